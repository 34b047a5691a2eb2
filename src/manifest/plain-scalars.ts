import type { ScalarTag } from "yaml";
import { CST, isScalar, Schema } from "yaml";
import { lazily } from "../model/lazily.ts";
import type { ScalarNode } from "./nodes.ts";

/** How documents are read, here and by the library's composer. */
export const composerOptions = {
  version: "1.2",
  schema: "core",
  // Duplicate keys are found while values are made, in linear time.
  uniqueKeys: false,
  resolveKnownTags: false,
  merge: false,
  prettyErrors: false,
  logLevel: "silent",
} as const;

/** The core schema's own tests of what a plain scalar is, in their order. */
const typed = lazily(() =>
  new Schema(composerOptions).tags.filter(
    (tag): tag is ScalarTag & { readonly test: RegExp } =>
      !("collection" in tag) && tag.default === true && tag.test !== undefined,
  ),
);

/** A plain scalar that begins otherwise, or is no such word, is text in the core schema. */
const mayBeTyped = /^(?:[-+.0-9~]|(?:[nN]ull|NULL|[tT]rue|TRUE|[fF]alse|FALSE|)$)/;

/** What most typed scalars are; the value is that of the core schema. */
const decimal = /^[1-9][0-9]*$/;
const words = new Map([
  ["true", true],
  ["false", false],
]);

/** Scalars on one line, without an escape and with a beginning that a plain one may have: their text needs no library. */
const isAsWritten = {
  scalar: /^[^\t,%|>@`\r\n][^\r\n]*$/,
  "single-quoted-scalar": /^'[^'\r\n]*'$/,
  "double-quoted-scalar": /^"[^"\\\r\n]*"$/,
};

/** The node of a scalar that stands on lines of its own or beside its key; `undefined` when the library finds a mistake in it. */
export function composeScalar(token: CST.FlowScalar | CST.BlockScalar): ScalarNode | undefined {
  const { type, offset, source } = token;
  const isPlain = type === "scalar";
  if (type !== "block-scalar" && type !== "alias" && isAsWritten[type].test(source)) {
    const text = isPlain ? source : source.slice(1, -1);
    return nodeOf(text, { isPlain, start: offset, end: offset + source.length });
  }
  let isFaulty = false;
  const resolved = CST.resolveAsScalar(token, true, () => {
    isFaulty = true;
  });
  if (isFaulty || resolved === null) return undefined;
  const [start, end] = resolved.range;
  return nodeOf(resolved.value, { isPlain, start, end });
}

function nodeOf(
  source: string,
  { isPlain, start, end }: Pick<ScalarNode, "isPlain" | "start" | "end">,
): ScalarNode {
  const value = isPlain && mayBeTyped.test(source) ? typedValue(source) : source;
  return { kind: "scalar", start, end, value, source, isPlain };
}

function typedValue(source: string): unknown {
  if (decimal.test(source)) return Number(source);
  const word = words.get(source);
  if (word !== undefined) return word;
  const tag = typed().find(({ test }) => test.test(source));
  const value = tag === undefined ? source : tag.resolve(source, () => {}, { intAsBigInt: false });
  return isScalar(value) ? value.value : value;
}
