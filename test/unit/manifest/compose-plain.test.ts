import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Composer, isNode, Parser } from "yaml";
import { composePlain } from "../../../src/manifest/compose-plain.ts";
import type { YamlNode } from "../../../src/manifest/nodes.ts";
import { isNothing, takeOver } from "../../../src/manifest/nodes.ts";
import { parseYaml } from "../../../src/manifest/parse-yaml.ts";
import { composerOptions } from "../../../src/manifest/plain-scalars.ts";

/** Without the ends of collections, which the library counts with the line end that comes after them. */
function outline(node: YamlNode | undefined): unknown {
  switch (node?.kind) {
    case "map": {
      const { end: _end, pairs, ...rest } = node;
      return { ...rest, pairs: pairs.map(({ key, value }) => [outline(key), outline(value)]) };
    }
    case "list": {
      const { end: _end, items, ...rest } = node;
      return { ...rest, items: items.map(outline) };
    }
    default:
      return node;
  }
}

function outlineOf(contents: unknown): unknown {
  return isNode(contents) ? outline(takeOver(contents)) : null;
}

/** How many documents a text has, if they are plain; each of them is held against what the composer makes of it. */
function checkPlain(text: string): number {
  const roots = composePlain(text) ?? [];
  if (roots.length === 0) return 0;
  const composed = [...new Composer(composerOptions).compose(new Parser().parse(text))];
  expect(composed.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect(roots.map(outline)).toEqual(composed.map(({ contents }) => outlineOf(contents)));
  return roots.length;
}

const scalars = [
  ..."abn~0-'\"|>&*!%@`,[]{}#?:.",
  "true",
  "True",
  "TRUE",
  "False",
  "null",
  "Null",
  "NULL",
  "1",
  "-1",
  "00123",
  "0o17",
  "0x1F",
  "1.10",
  "-.5",
  ".inf",
  ".NaN",
  "1e3",
  "12e03",
  "9007199254740993",
  "2020-01-01",
  "Ω dragon",
  "a b",
  "a #b",
  "a#b",
  "a: b",
  "a:b",
  "<<",
  "yes",
  '"q"',
  '"a\\tb\\u00e9\\x41"',
  '"bad \\q"',
  '"open',
  "'it''s'",
  "'open",
  '""',
  "''",
  "[a, b]",
  "{ a: 1 }",
  "&a x",
  "*a",
  "!!str 1",
  "- a",
  "? a",
];
const blocks = ["|", ">", "|-", ">-", "|+", ">2", "|1", "| # c", "|x", "|#c"];

const word = fc.constantFrom("a", "draft", "x y", "Ключ", '"k"', "'k'", "1", "true", "a#", "-", "<<", "?");
const comment = fc.constantFrom("", "", "", " # c", "#c", "  ", "\t", " \t# c");
const lineEnd = fc.constantFrom("\n", "\n", "\n", "\n", "\r\n", "\n\n", "\n# c\n", "\n   # c\n", "\n\t\n");
const column = fc.constantFrom(0, 0, 2, 2, 4, 1);
const scalar = fc.constantFrom(...scalars);

const pairLine = fc
  .record({
    indent: column,
    dash: fc.constantFrom("", "", "", "- ", "-   ", "-\t", "-", "- - "),
    key: word,
    colon: fc.constantFrom(": ", ": ", ": ", ":", ":   ", " : ", ":\t"),
    value: fc.oneof({ weight: 3, arbitrary: scalar }, fc.constant("")),
    comment,
    lineEnd,
  })
  .map(
    (each) =>
      `${" ".repeat(each.indent)}${each.dash}${each.key}${each.colon}${each.value}${each.comment}${each.lineEnd}`,
  );
const otherLine = fc
  .record({ indent: column, dash: fc.constantFrom("", "- "), text: fc.oneof(scalar, word), comment, lineEnd })
  .map((each) => `${" ".repeat(each.indent)}${each.dash}${each.text}${each.comment}${each.lineEnd}`);
const blockText = fc
  .record({
    head: fc.constantFrom("a: ", "  - a: ", "- "),
    block: fc.constantFrom(...blocks),
    lines: fc.array(fc.constantFrom("  text", "    more", "", "   # no comment", "  a: b", "\ttab", " x"), {
      maxLength: 4,
    }),
  })
  .map(({ head, block, lines }) => `${head}${block}\n${lines.map((line) => `${line}\n`).join("")}`);
const mark = fc.constantFrom(
  "---\n",
  "--- # c\n",
  "---\n# c\n",
  "--- a: b\n",
  "---#\n",
  "...\n",
  "%YAML 1.2\n",
  "# c\n",
);
const wild = fc
  .array(fc.oneof({ weight: 6, arbitrary: pairLine }, { weight: 2, arbitrary: otherLine }, blockText, mark), {
    maxLength: 8,
  })
  .map((lines) => lines.join(""));

/** A text that is mostly sound, with one stretch of it replaced. */
const soundScalar = fc.constantFrom(
  "1",
  "fbx",
  "true",
  '"2020"',
  "'7.2'",
  "1.10",
  "~",
  "|\n      one\n\n      two\n",
  ">-\n      one\n      two\n",
  "two\n      lines",
  '"two\n      lines"',
  "a  # c",
);
const soundEntry = fc
  .array(fc.tuple(fc.constantFrom("file_id", "renderer", '"k"'), soundScalar), { minLength: 1, maxLength: 3 })
  .map((pairs) => `  - ${pairs.map(([key, value]) => `${key}: ${value}`).join("\n    ")}\n`);
const sound = fc
  .array(
    fc.oneof(
      fc.tuple(fc.constantFrom("draft", "publish"), soundScalar).map(([key, value]) => `${key}: ${value}\n`),
      fc.array(soundEntry, { minLength: 1, maxLength: 3 }).map((entries) => `files:\n${entries.join("")}`),
      fc.constantFrom("# c\n", "\n", "map:\n  a: 1\n  # c\n  b: x\n"),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(""));
const mended = fc
  .record({
    text: sound,
    at: fc.nat(),
    length: fc.nat({ max: 3 }),
    by: fc.constantFrom(
      "",
      " ",
      "  ",
      "\n",
      "\t",
      "#",
      ":",
      ": ",
      "- ",
      "a",
      "'",
      '"',
      "&a ",
      "*a",
      "!t ",
      "|",
      "{",
      "]",
      ",",
      "---\n",
      "...\n",
      "\r",
    ),
  })
  .map(({ text, at, length, by }) => {
    const from = text.length === 0 ? 0 : at % text.length;
    return text.slice(0, from) + by + text.slice(from + length);
  });

/** Lines that are plain each by itself, indented at random: only together they make sense, or none. */
const indented = fc
  .array(
    fc.record({
      indent: fc.constantFrom(0, 0, 1, 2, 2, 3, 4, 6),
      dash: fc.constantFrom("", "", "- ", "-   "),
      text: fc.constantFrom("a:", "a:", "b:", "a: 1", "b: x", '"c": y', "x", "a: |\n      t", "# c", ""),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((lines) => lines.map(({ indent, dash, text }) => `${" ".repeat(indent)}${dash}${text}\n`).join(""));

/** Collections within collections, each as far indented as it likes. */
interface Tree {
  readonly by: number;
  readonly scalar?: string;
  readonly pairs?: readonly Tree[];
  readonly items?: readonly Tree[];
}

const by = fc.integer({ min: 1, max: 4 });
const { map } = fc.letrec<{ any: Tree; map: Tree; list: Tree; leaf: Tree }>((tie) => ({
  any: fc.oneof({ maxDepth: 4 }, tie("leaf"), tie("map"), tie("list")),
  leaf: fc.record({ by, scalar: fc.constantFrom("x", "1", '"2020"', "a  # c", `>-\n${" ".repeat(40)}t\n`) }),
  map: fc.record({ by, pairs: fc.array(tie("any"), { minLength: 1, maxLength: 3 }) }),
  list: fc.record({
    by: fc.integer({ min: 0, max: 4 }),
    items: fc.array(fc.oneof(tie("leaf"), tie("map")), { minLength: 1, maxLength: 3 }),
  }),
}));

/** What stands after a colon, or the lines of a root. */
function written(tree: Tree, indent: number, lead: "\n" | ""): string {
  if (tree.scalar !== undefined) return ` ${tree.scalar}\n`;
  const margin = " ".repeat(indent + tree.by);
  if (tree.pairs !== undefined) {
    const pairs = tree.pairs.map((pair, at) => `k${at}:${written(pair, indent + tree.by, "\n")}`);
    return `${lead}${margin}${pairs.join(margin)}`;
  }
  const items = (tree.items ?? []).map((item) => {
    const inner = written(item, margin.length + 1, "");
    return `${margin}-${item.scalar === undefined ? inner.slice(margin.length + 1) : inner}`;
  });
  return `${lead}${items.join(`\n${margin}# c\n`)}`;
}

const runs = { numRuns: 1500 };

/** Checks many texts; how many documents of them are plain. */
function countPlain(texts: fc.Arbitrary<string>): number {
  let plain = 0;
  fc.assert(
    fc.property(texts, (text) => {
      plain += checkPlain(text);
    }),
    runs,
  );
  return plain;
}

describe("what is made of plain documents is what the composer makes of them", () => {
  test("in texts of all kinds of lines", () => {
    countPlain(wild);
  });

  test("in sound texts, most of which are plain", () => {
    expect(countPlain(sound)).toBeGreaterThan(runs.numRuns / 2);
  });

  test("in lines that are indented at random", () => {
    expect(countPlain(indented)).toBeGreaterThan(runs.numRuns / 50);
  });

  test("in collections within collections, all of which are plain", () => {
    fc.assert(
      fc.property(map, (tree) => {
        const text = written(tree, -tree.by, "");
        expect(`${checkPlain(text)} of\n${text}`).toBe(`1 of\n${text}`);
      }),
      runs,
    );
  });

  test("in sound texts with a stretch replaced", () => {
    countPlain(mended);
  });
});

test.each([...scalars, ..."%@`,".split("").map((start) => `${start}x`)])(
  "%s is what the composer makes of it, as a value, an item and a key",
  (scalar) => {
    for (const text of [`a: ${scalar}\n`, `a:\n- ${scalar}\n- b\n`, `${scalar}: b\n`]) checkPlain(text);
  },
);

test.each([
  ["comments and blank lines", "# c\n\na: 1 # c\n\n# c\nb:\n  # c\n  - c: d\n    # c\n  # c\n"],
  ["marks", "---\na: 1\n"],
  ["line ends of Windows", "a: 1\r\nb:\r\n  - c: |\r\n      d\r\n"],
  ["texts over several lines", 'a: >-\n  b\n  c\nd: "e\n  f"\ng: h\n  i\n'],
  ["lists of scalars", "a:\n- 1\n- true\n- x\n"],
  ["texts that say how far they are indented", "a:\n - |1\n   b\n - c: |2\n      d\n"],
])("a document with %s is plain", (_name, text) => {
  expect(checkPlain(text)).toBe(1);
});

test("of several documents, each is plain", () => {
  expect(checkPlain("# c\n---\na: 1\n--- # c\n  b:\n  - x\n\n---\nc: |\n  d\n")).toBe(3);
});

/** The documents of a text as the composer alone makes them, without those of nothing; directives are kept from it. */
function composedOnly(text: string) {
  const tokens = [...new Parser().parse(text)].filter(({ type }) => type !== "directive");
  return [...new Composer(composerOptions).compose(tokens)].flatMap(({ contents, errors }) => {
    const broken = errors.some(({ code }) => code !== "TAG_RESOLVE_FAILED");
    const isEmpty = !isNode(contents) || (isNothing(takeOver(contents)) && contents.anchor === undefined);
    return broken || !isEmpty ? [{ root: outlineOf(contents), broken }] : [];
  });
}

test("a stream that is plain up to somewhere is read as if the composer had made all of it", () => {
  const stream = fc.array(fc.oneof(sound, mended, wild, mark), { maxLength: 5 });
  fc.assert(
    fc.property(stream, (parts) => {
      const text = parts.join("");
      const documents = parseYaml(text).documents.map(({ root, broken }) => ({
        root: root === null ? null : outline(root),
        broken,
      }));
      expect(documents).toEqual(composedOnly(text));
    }),
    runs,
  );
});

test.each([
  ["a flow collection", "a: [1]\n"],
  ["an anchor", "a: &x 1\n"],
  ["an alias", "a: *x\n"],
  ["a tag", "a: !!str 1\n"],
  ["a value of nothing", "a:\n"],
  ["an explicit key", "? a\n: b\n"],
  ["a list of lists", "a:\n  - - b\n"],
  ["a comment that is not apart", 'a: "b"#c\n'],
  ["a tab after a colon", "a:\tb\n"],
  ["a tab after a dash", "a:\n-\tb\n"],
  ["a tab among spaces", "a:\n- \tb: c\n  d: e\n"],
  ["a tab before a dash", "a:\n- b\n\t\n- c\n"],
  ["an anchor of an entry", "a:\n- &x b\n"],
  ["a key as long as a text", `${"a".repeat(1025)}: b\n`],
  ["a key of two columns", "  a: b\n c: d\n"],
  [
    "more levels than manifests have",
    `${Array.from({ length: 30 }, (_none, at) => `${" ".repeat(at)}a:`).join("\n")} 1\n`,
  ],
  ["a scalar", "a\n"],
  ["a list", "- a\n"],
  ["nothing", "---\n"],
  ["a bad escape", 'a: "\\q"\n'],
])("a document with %s is for the composer", (_name, text) => {
  expect(checkPlain(text)).toBe(0);
});
