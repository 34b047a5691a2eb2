import { describe, expect, test } from "vitest";
import { brief, briefs, read } from "./support.ts";

const entry = (lines: string) => `draft: 1\nproduct_files:\n  - file_id: 2\n${lines}`;

const failures: readonly (readonly [name: string, text: string, expected: readonly string[]])[] = [
  ["a tab as indentation", "draft: 1\n\tprotect: true\n", ["2:1 yaml-tab « »"]],
  ["a key indented too far", "draft: 1\n protect: true\n", ["2:2 yaml-syntax «protect: true»"]],
  ["a list entry indented too far", entry("   - file_id: 3\n"), ["4:4 yaml-syntax «- file_id: 3»"]],
  ["a key without its dash", entry("   renderer: x\n"), ["4:4 yaml-syntax «renderer: x»"]],
  ["no space after a colon", "draft: 1\nprotect:true\n", ["2:1 yaml-syntax «protect:true»"]],
  ["a line without a colon", entry("    renderer\n"), ["4:5 yaml-syntax «renderer»"]],
  ["a colon in a value", entry("    renderer: a: b\n"), ["4:15 yaml-syntax «a: b»"]],
  ["a quote that stays open", entry('    renderer: "a\n'), ['4:15 yaml-syntax «"»']],
  ["a bracket that stays open", "draft: 1\nproduct_files: [\n  { file_id: 2 }\n", ["2:16 yaml-syntax «[»"]],
  ["a brace that stays open", "draft: 1\npublish: { revision: 2\nprotect: true\n", ["2:10 yaml-syntax «{»"]],
  ["an extra bracket", "draft: 1\nproduct_files: [] ]\n", ["2:19 yaml-syntax «]»"]],
  ["a list on its key's line", "draft: 1\nproduct_files: - file_id: 2\n", ["2:16 yaml-syntax «-»"]],
  ["a reserved character", entry("    renderer: @x\n"), ["4:15 yaml-syntax «@»"]],
  ["an unknown escape", entry('    renderer: "a\\qb"\n'), ["4:17 yaml-syntax «\\»"]],
  ["an unknown tag", entry("    renderer: !secret x\n"), ["4:15 yaml-tag «!secret»"]],
  ["an explicit string tag", entry("    renderer: !!str 12\n"), ["4:15 yaml-tag «!!str»"]],
  ["a tag on a mapping", "!!map\ndraft: 1\n", ["1:1 yaml-tag «!!map»"]],
  ["a tag on an alias", "draft: &a 1\nprotect: !!x *a\n", ["2:10 yaml-tag «!!x»", "2:14 yaml-syntax «*a»"]],
  ["an old YAML version", "%YAML 1.1\n---\ndraft: 1\n", ["1:1 yaml-directive «%YAML 1.1»"]],
  ["a tag directive", "%TAG ! tag:x,2000:\n---\ndraft: 1\n", ["1:1 yaml-directive «%TAG ! tag:x,2000:»"]],
  ["a duplicate key", "draft: 1\ndraft: 2\n", ["2:1 duplicate-key «draft»"]],
  ["a duplicate key in quotes", 'draft: 1\n"draft": 2\n', ['2:1 duplicate-key «"draft"»']],
  [
    "keys in two Unicode forms",
    "draft: 1\ncaf\u00e9: 1\ncafe\u0301: 2\n",
    ["2:1 unknown-key «caf\u00e9»", "3:1 key-collision «cafe\u0301»"],
  ],
  ["a merge key", "draft: 1\nproduct_files:\n  - <<: { file_id: 2 }\n", ["3:5 merge-key «<<»"]],
  ["a list as a key", entry("    ? [a]\n    : 1\n"), ["4:7 bad-key «[a]»"]],
  ["an alias as a key", "draft: &a 1\n*a : 2\n", ["2:1 bad-key «*a»"]],
  ["a missing key", "draft: 1\n: 2\n", ["2:1 bad-key «:»"]],
  ["a number as a key", "draft: 1\n12: 2\n", ["2:1 unknown-key «12»"]],
  ["__proto__", "draft: 1\n__proto__: { protect: true }\n", ["2:1 unknown-key «__proto__»"]],
  ["constructor", "draft: 1\nconstructor: 1\n", ["2:1 unknown-key «constructor»"]],
  ["an unknown alias", "draft: *id\n", ["1:8 unknown-alias «*id»"]],
  ["an alias of the previous document", "draft: &id 1\n---\ndraft: *id\n", ["3:8 unknown-alias «*id»"]],
  ["an alias to itself", "draft: 1\nproduct_files: &a [*a]\n", ["2:20 cyclic-alias «*a»"]],
  ["a NUL", "draft: 1\n# a\u0000b\n", ["2:4 control-character «\ufffd»"]],
  ["an escape character in a value", entry("    renderer: a\u001bb\n"), ["4:16 control-character «\ufffd»"]],
  ["a lone carriage return", "draft: 1 # a\rprotect: true\n", ["1:13 control-character «\ufffd»"]],
  ["comments only", "# nothing here\n", ["1:1 empty-file «#»"]],
];

test.each(failures)("reports %s, with LF or CRLF and after another document", (_name, text, expected) => {
  expect(briefs(read(text))).toEqual(expected);
  expect(briefs(read(text.replaceAll("\n", "\r\n")))).toEqual(expected);
  // A document in front moves lines only; a file with it is never empty, and directives need an end mark before.
  const moved = expected
    .filter((line) => !line.includes("empty-file"))
    .map((line) => line.replace(/^\d+/, (number) => String(Number(number) + 2)));
  const separator = text.startsWith("%") ? "..." : "---";
  expect(briefs(read(`draft: 900\n${separator}\n${text}`))).toEqual(moved);
});

describe("a diagnostic", () => {
  test("suggests the nearest allowed key for a misspelled one", () => {
    const hints = ["protct", "Draft", "product-files", "pubish", "zzz"].map(
      (key) => read(`draft: 1\n${key}: 1\n`)[0]?.hint,
    );
    expect(hints).toEqual([
      'Did you mean "protect"?',
      'Did you mean "draft"?',
      'Did you mean "product_files"?',
      'Did you mean "publish"?',
      "Allowed here: draft, title, protect, product_files, promotional_files, publish.",
    ]);
  });

  test("shows the first line of a duplicate key", () => {
    const [diagnostic] = read("draft: 1\nprotect: true\npublish: true\nprotect: false\n");
    expect(diagnostic?.excerpt).toEqual([
      { line: 2, text: "protect: true" },
      { line: 4, text: "protect: false", mark: { column: 1, length: 7 } },
    ]);
  });

  test("says that a merge key is not part of YAML 1.2, without reporting keys as missing", () => {
    const text = "draft: 1\nproduct_files:\n  - &a { file_id: 2 }\n  - <<: *a\n    renderer: x\n";
    const diagnostics = read(text);
    expect(briefs(diagnostics)).toEqual(["4:5 merge-key «<<»"]);
    expect(diagnostics[0]?.message).toContain("not part of YAML 1.2");
    expect(diagnostics[0]?.hint).toContain("alias can stand for a whole value");
  });

  test("is reported at each use of an invalid aliased value", () => {
    const text =
      "draft: 1\nproduct_files:\n  - file_id: 2\n    renderer: &r 12\n  - file_id: 3\n    renderer: *r\n";
    expect(briefs(read(text))).toEqual(["4:18 unquoted-text «12»", "6:15 unquoted-text «*r»"]);
  });

  test("is reported once for a mistake within an aliased value", () => {
    const text = "draft: 1\nproduct_files: &files\n  - file_id: x\npromotional_files: *files\n";
    expect(briefs(read(text))).toEqual(["3:14 wrong-type «x»"]);
  });

  test("shortens a long line around the marked text", () => {
    const text = `draft: 1\nproduct_files: [${"{ file_id: 2 }, ".repeat(200)}{ file_id: "77" }]\n`;
    const [diagnostic] = read(text).filter((each) => each.code === "quoted-number");
    expect(diagnostic && brief(diagnostic)).toBe('2:3228 quoted-number «"77"»');
    expect(diagnostic?.excerpt?.at(-1)?.text.length).toBeLessThanOrEqual(162);
  });

  test("escapes control characters in text of the user", () => {
    const [diagnostic] = read('draft: 1\n"a\\u001b[31m\\u202eb": 1\n');
    expect(diagnostic?.code).toBe("unknown-key");
    expect(diagnostic?.message).toContain("a\\u{1b}[31m\\u{202e}b");
  });
});
