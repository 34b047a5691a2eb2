import { describe, expect, test } from "vitest";
import { sanitizeLine } from "../../../src/report/sanitize-text.ts";
import { brief, briefs, read } from "./support.ts";

const ids: readonly (readonly [name: string, written: string, code: string])[] = [
  ["in double quotes", '"48213"', "quoted-number"],
  ["in single quotes", "'48213'", "quoted-number"],
  ["with a leading zero", "00123", "ambiguous-number"],
  ["as hexadecimal", "0x1F", "ambiguous-number"],
  ["as octal", "0o17", "ambiguous-number"],
  ["as binary", "0b101", "ambiguous-number"],
  ["with an exponent", "1e3", "ambiguous-number"],
  ["with a point and a zero", "48213.0", "ambiguous-number"],
  ["with a fraction", "1.5", "ambiguous-number"],
  ["with underscores", "1_000", "ambiguous-number"],
  ["with commas", "1,000", "ambiguous-number"],
  ["in base sixty", "12:30", "ambiguous-number"],
  ["with a plus", "+5", "ambiguous-number"],
  ["as infinity", ".inf", "ambiguous-number"],
  ["as NaN", ".nan", "ambiguous-number"],
  ["as minus zero", "-0", "ambiguous-number"],
  ["as a negative number", "-5", "number-out-of-range"],
  ["as zero", "0", "number-out-of-range"],
  ["as 2^53", "9007199254740992", "number-out-of-range"],
  ["above 2^53", "9007199254740993", "number-out-of-range"],
  ["with a hundred digits", "9".repeat(100), "number-out-of-range"],
  ["as null", "null", "null-value"],
  ["as a tilde", "~", "null-value"],
  ["as a word", "abc", "wrong-type"],
  ["as a boolean", "true", "wrong-type"],
  ["as a list", "[48213]", "wrong-type"],
  ["as a mapping", "{ id: 48213 }", "wrong-type"],
];

describe("an id", () => {
  test.each(ids)("is rejected %s: %s", (_name, written, code) => {
    expect(briefs(read(`draft: ${written}\n`))).toEqual([`1:8 ${code} «${written}»`]);
    expect(briefs(read(`draft: 1\nproduct_files:\n  - file_id: ${written}\n`))).toEqual([
      `3:14 ${code} «${written}»`,
    ]);
  });

  test("is accepted up to the largest safe integer", () => {
    expect(read("draft: 9007199254740991\n")).toEqual([]);
  });
});

const attributes: readonly (readonly [line: string, code: string, mark: string, hint: string])[] = [
  ["format_version: 2020", "unquoted-text", "2020", 'format_version: "2020"'],
  ["format_version: 1.10", "unquoted-text", "1.10", 'format_version: "1.10"'],
  ["format_version: 0x1F", "unquoted-text", "0x1F", 'format_version: "0x1F"'],
  ["renderer_version: 007", "unquoted-text", "007", 'renderer_version: "007"'],
  ["renderer_version: 1e3", "unquoted-text", "1e3", 'renderer_version: "1e3"'],
  ["renderer: true", "unquoted-text", "true", 'renderer: "true"'],
  ["renderer: ", "null-value", "renderer", 'renderer: ""'],
  ["renderer: null", "null-value", "null", 'renderer: ""'],
  ["renderer: [a]", "wrong-type", "[a]", "renderer"],
  ["is_native: yes", "not-a-boolean", "yes", "is_native: true"],
  ["is_native: No", "not-a-boolean", "No", "is_native: false"],
  ["is_native: off", "not-a-boolean", "off", "is_native: false"],
  ['is_native: "true"', "not-a-boolean", '"true"', "is_native: true"],
  ["is_native: 0", "not-a-boolean", "0", "is_native: false"],
  ["is_native: maybe", "wrong-type", "maybe", "true"],
  ["is_native: null", "null-value", "null", "true or false"],
  ['renderer: "a\\nb"', "unfit-name", '"a\\nb"', "one line"],
  ['renderer: "a\\tb"', "unfit-name", '"a\\tb"', "one line"],
  ['renderer: "a\\u202eb"', "unfit-name", '"a\\u202eb"', "one line"],
  ['renderer: "a\\0b"', "control-character", '"a\\0b"', "Remove the escape"],
  ['renderer: "a\\eb"', "control-character", '"a\\eb"', "Remove the escape"],
  ['renderer: "a\\ud800b"', "control-character", '"a\\ud800b"', "Remove the escape"],
];

test.each(attributes)("rejects the attribute %s as %s", (line, code, mark, hint) => {
  const [diagnostic, ...others] = read(`draft: 1\nproduct_files:\n  - file_id: 2\n    ${line}\n`);
  const column = code === "null-value" && mark === "renderer" ? 5 : 5 + line.indexOf(mark);
  expect(diagnostic && brief(diagnostic)).toBe(`4:${column} ${code} «${mark}»`);
  expect(diagnostic?.hint).toContain(hint);
  expect(others).toEqual([]);
});

const references: readonly (readonly [entry: string, expected: string])[] = [
  ["renderer: x", "3:5 missing-file «renderer: x»"],
  ["{}", "3:5 missing-file «{}»"],
  ["{ file_id: 1, source: x }", "3:5 ambiguous-file «{ file_id: 1, source: x }»"],
  [
    "{ upload_id: a, upload_key: b, source: c }",
    "3:5 ambiguous-file «{ upload_id: a, upload_key: b, source: c }»",
  ],
  ["file_ids: 1", "3:5 unknown-key «file_ids»"],
  ["upload_id: 12", "3:16 unquoted-text «12»"],
  ['upload_key: ""', '3:17 empty-text «""»'],
  ['upload_key: "a\\u2066b"', '3:17 unfit-name «"a\\u2066b"»'],
  ["source: a\\b.fbx", "3:13 source-path «a\\b.fbx»"],
  ["source: /etc/passwd", "3:13 source-path «/etc/passwd»"],
  ["source: ~/a.fbx", "3:13 source-path «~/a.fbx»"],
  ["source: C:/a.fbx", "3:13 source-path «C:/a.fbx»"],
  ["source: https://example.com/a", "3:13 source-path «https://example.com/a»"],
  ['source: ""', '3:13 empty-text «""»'],
  ['source: "a\\u202eb"', '3:13 unfit-name «"a\\u202eb"»'],
  ["description: text of the wrong collection\n    file_id: 1", "3:5 unknown-key «description»"],
  ["just text", "3:5 wrong-type «just text»"],
  ["null", "3:5 null-value «null»"],
];

test.each(references)("rejects the entry %j", (entry, expected) => {
  expect(briefs(read(`draft: 1\nproduct_files:\n  - ${entry}\n`))).toEqual([expected]);
});

const documents: readonly (readonly [name: string, text: string, expected: readonly string[]])[] = [
  ["a list at the top", "- draft: 1\n", ["1:1 not-a-mapping «- draft: 1»"]],
  ["a word at the top", "draft\n", ["1:1 not-a-mapping «draft»"]],
  ["an explicit null", "--- ~\n", ["1:5 not-a-mapping «~»"]],
  ["a draft and duplicates", "draft: 1\nduplicates: []\n", ["2:1 mixed-document «duplicates»"]],
  ["neither a draft nor duplicates", "protect: true\n", ["1:1 missing-key «protect: true»"]],
  ["a misspelled draft", "drafts: 1\n", ["1:1 unknown-key «drafts»"]],
  ["a misspelled list", "duplicate: []\n", ["1:1 unknown-key «duplicate»"]],
  ["files as a mapping", "draft: 1\nproduct_files: { file_id: 1 }\n", ["2:16 wrong-type «{ file_id: 1 }»"]],
  ["an empty list value", "draft: 1\nproduct_files:\n", ["2:1 null-value «product_files»"]],
  ["an empty entry", "draft: 1\nproduct_files:\n  -\n", ["3:3 null-value «-»"]],
  ["publish as a word", "draft: 1\npublish: yes\n", ["2:10 not-a-boolean «yes»"]],
  ["publish as a number", "draft: 1\npublish: 2\n", ["2:10 wrong-type «2»"]],
  ["publish without revision", "draft: 1\npublish: {}\n", ["2:10 missing-key «{}»"]],
  ["revision zero", "draft: 1\npublish: { revision: 0 }\n", ["2:22 number-out-of-range «0»"]],
  ["revision in quotes", 'draft: 1\npublish: { revision: "2" }\n', ['2:22 quoted-number «"2"»']],
  ["a duplicate without product", "duplicates:\n  - name: a\n", ["2:5 missing-key «name: a»"]],
  ["a duplicate without name", "duplicates:\n  - product: 7\n", ["2:5 missing-key «product: 7»"]],
  ["a product in quotes", 'duplicates:\n  - { name: a, product: "7" }\n', ['2:25 quoted-number «"7"»']],
  [
    "a product of a quoted draft",
    'duplicates:\n  - { name: a, product: { draft: "7" } }\n',
    ['2:34 quoted-number «"7"»'],
  ],
  ["an empty name", 'duplicates:\n  - { name: "", product: 7 }\n', ['2:13 empty-text «""»']],
];

test.each(documents)("rejects a document with %s", (_name, text, expected) => {
  expect(briefs(read(text))).toEqual(expected);
});

test("rejects a name with a character that is printed as its code, since it could not be copied into a command", () => {
  const all = Array.from({ length: 0x11_00_00 }, (_none, code) => String.fromCodePoint(code));
  const printed = all.filter((char) => sanitizeLine(char) !== char && !/\p{Surrogate}/u.test(char));
  const entries = printed.map((char, at) => {
    const code = (char.codePointAt(0) ?? 0).toString(16).padStart(8, "0");
    return `  - { name: "a\\U${code}", product: ${at + 1} }\n`;
  });
  const found = read(`duplicates:\n${entries.join("")}`);
  const refused = new Set(found.map(({ place }) => place?.line));
  expect(printed.filter((_char, at) => !refused.has(at + 2))).toEqual([]);
});

test("reports all mistakes of all documents at once, in the order of the text", () => {
  const text = `draft: "1"
protect: on
product_files:
  - file_id: 2
    file_format: 3
    colour: red
    is_native: null
---
duplicates:
  - name: 5
    product: six
---
draft: 7
publish: { revision: 08 }
`;
  expect(briefs(read(text))).toEqual([
    '1:8 quoted-number «"1"»',
    "2:10 not-a-boolean «on»",
    "5:18 unquoted-text «3»",
    "6:5 unknown-key «colour»",
    "7:16 null-value «null»",
    "10:11 unquoted-text «5»",
    "11:14 wrong-type «six»",
    "14:22 ambiguous-number «08»",
  ]);
});

test("hints how to fix every mistake, without the vocabulary of the validator", () => {
  const rows = [
    ...ids.map(([, written]) => `draft: ${written}\n`),
    ...attributes.map(([line]) => `draft: 1\nproduct_files:\n  - file_id: 2\n    ${line}\n`),
    ...references.map(([entry]) => `draft: 1\nproduct_files:\n  - ${entry}\n`),
    ...documents.map(([, text]) => text),
  ];
  const diagnostics = rows.flatMap((text) => [...read(text)]);
  expect(diagnostics.length).toBeGreaterThanOrEqual(rows.length);
  for (const { code, message, hint = "" } of diagnostics) {
    expect(code).toMatch(/^[a-z]+(-[a-z0-9]+)*$/);
    expect(hint.length).toBeGreaterThan(10);
    expect(`${message} ${hint}`).not.toMatch(
      /invalid input|expected|received|undefined|\[object|zod|symbol|\{label\}/i,
    );
  }
});
