import type { ScalarTag } from "yaml";
import { CST, isScalar, Schema } from "yaml";
import { lazily } from "../model/lazily.ts";
import type { ListNode, MapNode, PairNode, ScalarNode, YamlNode } from "./nodes.ts";

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

/** Longer keys are for the library's composer, which has a limit for them (YAML 1.2.2 §7.4.3: 1024 characters). */
const longestKey = 1000;

/** The core schema's own tests of what a plain scalar is, in their order. */
const typed = lazily(() =>
  new Schema(composerOptions).tags.filter(
    (tag): tag is ScalarTag & { readonly test: RegExp } =>
      !("collection" in tag) && tag.default === true && tag.test !== undefined,
  ),
);

/** A plain scalar that begins otherwise is text in the core schema. */
const mayBeTyped = /^(?:[-+.0-9~nNtTfF]|$)/;

/**
 * Makes the nodes of a document that is plain: block mappings and lists with a value everywhere, and scalars. They are
 * those that the library's composer makes, without its way there. `undefined` for everything else (flow collections, anchors,
 * aliases, tags, explicit keys, empty values, tabs between things) and for whatever may be a mistake: the composer is to
 * judge it.
 */
export function composePlain({ start, value, end }: CST.Document): YamlNode | undefined {
  const mark = start.findIndex(({ type }) => type === "doc-start");
  const after = start.slice(mark + 1);
  const isSound = isBlank(after) && (mark < 0 || (isBlank(start.slice(0, mark)) && hasNewline(after)));
  return isSound && value?.type === "block-map" && isBlank(end) ? composeMap(value) : undefined;
}

function compose(token: CST.Token): YamlNode | undefined {
  switch (token.type) {
    case "block-map":
      return composeMap(token);
    case "block-seq":
      return composeList(token);
    default:
      return CST.isScalar(token) ? composeScalar(token) : undefined;
  }
}

function composeMap({ offset, indent, items }: CST.BlockMap): MapNode | undefined {
  const pairs: PairNode[] = [];
  let end = offset;
  for (const item of items) {
    if (isTrailing(item, items)) break;
    const { start, key, sep, value } = item;
    if (!isBlank(start) || !isKey(key, indent) || sep === undefined || value == null) return undefined;
    if (sep[0]?.type !== "map-value-ind" || !isBlank(sep, 1)) return undefined;
    if (CST.isCollection(value) && !hasNewline(sep)) return undefined;
    const keyNode = composeScalar(key);
    const node = keyNode === undefined ? undefined : compose(value);
    if (node === undefined) return undefined;
    pairs.push({ key: keyNode, value: node });
    end = node.end;
  }
  return { kind: "map", start: offset, end, pairs };
}

function composeList({ offset, items: tokens }: CST.BlockSequence): ListNode | undefined {
  const items: YamlNode[] = [];
  let end = offset;
  for (const item of tokens) {
    if (isTrailing(item, tokens)) break;
    const { start, value } = item;
    const dash = start.findIndex(({ type }) => type === "seq-item-ind");
    if (dash < 0 || !isBlank(start.slice(0, dash)) || !isBlank(start, dash + 1)) return undefined;
    const node = value == null || value.type === "block-seq" ? undefined : compose(value);
    if (node === undefined) return undefined;
    items.push(node);
    end = node.end;
  }
  return { kind: "list", start: offset, end, items };
}

function composeScalar(token: CST.FlowScalar | CST.BlockScalar): ScalarNode | undefined {
  let isFaulty = false;
  const resolved = CST.resolveAsScalar(token, true, () => {
    isFaulty = true;
  });
  if (isFaulty || resolved === null) return undefined;
  const { value: source, range } = resolved;
  const isPlain = token.type === "scalar";
  const value = isPlain && mayBeTyped.test(source) ? typedValue(source) : source;
  return { kind: "scalar", start: range[0], end: range[1], value, source, isPlain };
}

function typedValue(source: string): unknown {
  const tag = typed().find(({ test }) => test.test(source));
  const value = tag === undefined ? source : tag.resolve(source, () => {}, { intAsBigInt: false });
  return isScalar(value) ? value.value : value;
}

/** A scalar on one line, in the column of its mapping. */
function isKey(key: CST.Token | null | undefined, indent: number): key is CST.FlowScalar {
  if (!CST.isScalar(key) || key.type === "block-scalar" || key.indent !== indent) return false;
  return key.source.length <= longestKey && !key.source.includes("\n");
}

/** The last item of a collection may hold no more than the comments and blank lines after it. */
function isTrailing(
  item: CST.BlockMap["items"][number] | CST.BlockSequence["items"][number],
  items: CST.BlockMap["items"] | CST.BlockSequence["items"],
): boolean {
  const isNothing = item.key == null && item.sep === undefined && item.value == null;
  return isNothing && item === items.at(-1) && isBlank(item.start);
}

/** From an index on, spaces, line ends and comments. A comment without a space before it is no comment to the lexer. */
function isBlank(tokens: readonly CST.SourceToken[] = [], from = 0): boolean {
  for (let index = from; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token?.type === "newline" || token?.type === "comment") continue;
    if (token?.type !== "space" || token.source.includes("\t")) return false;
  }
  return true;
}

function hasNewline(tokens: readonly CST.SourceToken[]): boolean {
  return tokens.some(({ type }) => type === "newline");
}
