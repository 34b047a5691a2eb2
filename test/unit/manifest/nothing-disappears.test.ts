import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { complete } from "../../support/complete.ts";
import { briefs, load, read, workspace } from "./support.ts";

/** A manifest with one description, written as given. */
function withDescription(written: string): string {
  return `draft: 1\npromotional_files:\n  - file_id: 2\n    description: ${written}\n`;
}

async function descriptionOf(written: string): Promise<string | undefined> {
  const { desired } = complete(await load({ "a.yaml": withDescription(written) }));
  return desired.drafts[0]?.attachments[0]?.attributes.description;
}

describe("a text that YAML allows", () => {
  test.each([
    ["U+0085 in a plain scalar", "a\u0085b", "a\u0085b"],
    ["U+0085 in a literal block", "|\n      a\u0085b\n", "a\u0085b\n"],
    ["U+0085 as an escape", '"a\\Nb"', "a\u0085b"],
    ["U+2028 in a plain scalar", "a\u2028b", "a\u2028b"],
    ["U+2028 as an escape", '"a\\Lb"', "a\u2028b"],
    ["a C1 control in double quotes", '"a\u0080b\u009f"', "a\u0080b\u009f"],
    ["a C1 control as an escape", '"a\\x9bb"', "a\u009bb"],
    ["DEL in quotes", '"a\u007fb"', "a\u007fb"],
  ])("is read unchanged: %s", async (_name, written, expected) => {
    expect(await descriptionOf(written)).toBe(expected);
  });

  test("is rejected as the name of a duplicate with U+0085, and no entry is lost", async () => {
    const text = "duplicates:\n  - name: a\u0085b\n    product: 1\n  - name: c\n    product: 2\n";
    expect(briefs((await load({ "a.yaml": text })).diagnostics)).toEqual(["2:11 unfit-name «a\ufffdb»"]);
  });
});

describe("a character that YAML does not allow", () => {
  test.each([
    ["a C0 control", '"a\u0001b"', "4:20 control-character «\ufffd»"],
    ["a C1 control outside of quotes", "a\u0080b", "4:19 control-character «\ufffd»"],
    ["a C1 control in a block", "|\n      a\u0084b\n", "5:8 control-character «\ufffd»"],
    ["a C0 control as an escape", '"a\\x01b"', '4:18 control-character «"a\\x01b"»'],
    ["a lone surrogate as an escape", '"a\\ud800b"', '4:18 control-character «"a\\ud800b"»'],
  ])("is rejected: %s", (_name, written, expected) => {
    expect(briefs(read(withDescription(written)))).toEqual([expected]);
  });

  test("is rejected: a C0 control that the lexer uses internally", () => {
    for (const control of ["\u0002", "\u0018", "\u001f"])
      expect(briefs(read(`draft: 1\n${control}\n`))).toContain("2:1 control-character «\ufffd»");
  });
});

describe("a quote that is never closed", () => {
  const list = "draft: 1\npromotional_files:\n";
  test.each([
    ["at the end of the file", `${list}  - description: "say \\"`, '3:18 yaml-syntax «"»'],
    ["in a second key", `${list}  - file_id: 1\n    description: "say \\"\n`, '4:18 yaml-syntax «"»'],
    ["in single quotes", `${list}  - description: 'say ''`, "3:18 yaml-syntax «'»"],
    [
      "when a later entry has one",
      `${list}- description: "say \\"\n- file_id: "b"\n`,
      '3:16 yaml-syntax «"»',
    ],
    ["after an odd number of backslashes", `${list}  - description: "say \\\\\\"`, '3:18 yaml-syntax «"»'],
    ["in a key", `${list}  - "say \\"`, '3:5 yaml-syntax «"»'],
  ])("is rejected %s", (_name, text, expected) => {
    const found = read(text).find(({ message }) => message === "This quote is never closed");
    expect(found === undefined ? [] : briefs([found])).toEqual([expected]);
  });

  test.each([
    [
      "over several lines",
      `[\n  { file_id: 1, description: "say },\n  { file_id: 2 },\n  { description: " } ]\n`,
    ],
    ["on one line", `[{ file_id: 1, description: "say \\" }, { file_id: 2, description: a" }]\n`],
    ["in single quotes", `[{ file_id: 1, description: 'say },\n  { file_id: 2, description: ''' }]\n`],
    ["after a comment", `[{ file_id: 1, description: "say }, # c\n  { file_id: 2, description: " }]\n`],
    [
      "without brackets",
      `\n  - file_id: 1\n    description: "one\n     - file_id: 2\n       description: two"\n`,
    ],
    ["of single pairs", `[ upload_key: "a, upload_key: b", file_id: 3 ]\n`],
  ])("is rejected when its text contains entries in brackets: %s", (_name, entries) => {
    const [diagnostic] = read(`draft: 1\npromotional_files: ${entries}`);
    expect(diagnostic?.message).toBe("This text in quotes contains what looks like an entry of its own");
  });

  test.each([
    ['"one\n      two"', "one two"],
    ["'one\n\n      two'", "one\ntwo"],
    ["one\n      two", "one two"],
    ['"say \\"\n      two"', 'say " two'],
    ["'it''s'", "it's"],
    ['"\\\\"', "\\"],
    ['"{ a }, { b }"', "{ a }, { b }"],
  ])("is not reported for %j", async (written, expected) => {
    expect(await descriptionOf(written)).toBe(expected);
  });
});

describe("a block scalar with spaces that the library would drop", () => {
  test.each([
    "|2\n        \n",
    "|2\n            \n",
    "|2-\n        ",
    ">2\n\n        \n",
    "|2+\n       \n\n",
    "|-2\n        key\n       \n",
    ">2\n        key\n\n       \n",
    "|2-\n        key\n      a\n       ",
  ])("is rejected when its text would be lost: %j", (written) => {
    expect(briefs(read(withDescription(written)))[0]).toMatch("4:18 yaml-syntax");
  });

  test("is rejected also at the end of a file without a line feed", () => {
    const manifest = withDescription("|2\n\n     \n      ").replace(/\n$/, "");
    expect(briefs(read(manifest))[0]).toMatch("4:18 yaml-syntax");
  });

  test.each([
    ["|\n        \n", ""],
    ["|2\n\n", ""],
    ["|+\n\n", "\n\n"],
    ["|2\n        a\n", "  a\n"],
    ["|2\n        a\n\n", "  a\n"],
    ["|2+\n        a\n       \n", "  a\n \n\n"],
  ])("is read without loss: %j as %j", async (written, expected) => {
    expect(await descriptionOf(written)).toBe(expected);
  });
});

describe("an empty line after an escaped line break", () => {
  test.each(['"a\\\n\n        b"', '"a\\\\\\\n  \n        b"'])(
    "is rejected when it would be lost: %j",
    (written) => {
      expect(briefs(read(withDescription(written)))[0]).toMatch('4:18 yaml-syntax «"a');
    },
  );

  test.each([
    ['"a\\\n        b"', "ab"],
    ['"a\\\\\n\n        b"', "a\\\nb"],
    ["'a\\\n\n        b'", "a\\\nb"],
  ])("is read without loss: %j as %j", async (written, expected) => {
    expect(await descriptionOf(written)).toBe(expected);
  });
});

describe("a directive", () => {
  test.each([
    ["without a line of dashes", "%YAML 1.2\ndraft: 1\n", "2:1 yaml-syntax"],
    ["without a document", "draft: 1\n...\n%YAML 1.2\n", "3:1 yaml-syntax «%YAML 1.2»"],
    ["alone", "%YAML 1.2\n", "1:1 yaml-syntax «%YAML 1.2»"],
  ])("is rejected %s", (_name, text, expected) => {
    expect(briefs(read(text))[0]).toMatch(expected);
  });

  test("is accepted before a line of dashes", () => {
    expect(read("%YAML 1.2\n---\ndraft: 1\n")).toEqual([]);
  });
});

describe("an entry with an unknown key", () => {
  const list = "draft: 1\nproduct_files:\n";
  test.each([
    [
      "a file that is listed twice",
      `${list}  - file_id: 7\n    foo: 1\n  - file_id: 7\n`,
      ["4:5 unknown-key «foo»", "5:14 duplicate-file «7»"],
    ],
    ["a key that is missing", `${list}  - foo: 1\n`, ["3:5 missing-file «foo: 1»", "3:5 unknown-key «foo»"]],
    [
      "a value that cannot be read",
      `${list}  - foo: 1\n    file_id: *x\n    renderer: "\\a"\n`,
      ["3:5 unknown-key «foo»", "4:14 unknown-alias «*x»", '5:15 control-character «"\\a"»'],
    ],
    [
      "a value of an unknown key that cannot be read",
      `${list}  - file_id: 1\n    foo: *x\n`,
      ["4:5 unknown-key «foo»", "4:10 unknown-alias «*x»"],
    ],
  ])("has its other mistakes reported: %s", async (_name, text, expected) => {
    expect(briefs((await load({ "a.yaml": text })).diagnostics)).toEqual(expected);
  });
});

test.each(["", "# draft: 1\n", "\ufeff", "---\n", " \n\n"])("rejects an empty manifest: %j", async (text) => {
  const loaded = await load({ "a.yaml": text, "b.yaml": "draft: 1\n" });
  expect(loaded).toMatchObject({ ok: false, diagnostics: [{ severity: "error", code: "empty-file" }] });
});

test("reads the name of a duplicate the same in every Unicode form", async () => {
  const nameIn = async (form: "NFC" | "NFD") => {
    const text = `duplicates:\n  - name: ${"Drâché".normalize(form)}\n    product: 1\n`;
    return complete(await load({ "a.yaml": text })).desired.duplicates[0]?.name;
  };
  expect(await nameIn("NFD")).toBe(await nameIn("NFC"));
});

describe("a manifest that changes while the workspace is read", () => {
  const text = "draft: 1\nproduct_files:\n  - file_id: 2\n";
  test.each<[string, (file: string) => void]>([
    ["when a part is appended", (file) => appendFileSync(file, "  - file_id: 3\n")],
    ["when a text of the same length is written", (file) => writeFileSync(file, text.replace("2", "3"))],
    [
      "when another file replaces it",
      (file) => {
        writeFileSync(`${file}.new`, text);
        renameSync(`${file}.new`, file);
      },
    ],
    ["when it is removed", (file) => rmSync(file)],
  ])("is rejected %s", async (_name, change) => {
    const root = workspace({ "a.yaml": text, "b.yaml": "draft: 4\n" });
    const { signal } = new AbortController();
    // The reader checks the signal before each manifest: before b.yaml, a.yaml has been read.
    vi.spyOn(signal, "throwIfAborted")
      .mockImplementationOnce(() => {})
      .mockImplementationOnce(() => change(join(root, "a.yaml")));
    const loaded = await loadManifests({ root, patterns: ["*.yaml"], sources: "stat", signal });
    expect(loaded.ok).toBe(false);
    expect(loaded.diagnostics).toMatchObject([{ code: "manifest-changed", place: { file: "a.yaml" } }]);
  });

  test.each([
    { to: "m/c.yaml", folder: "m" },
    { to: "m/new/c.yaml", folder: "m/new" },
  ])("is rejected when it is moved to $to", async ({ to, folder }) => {
    const root = workspace({ "m/a.yaml": text, "m/b.yaml": "draft: 4\n", "c.yaml": "draft: 7\n" });
    mkdirSync(join(root, "m/new"));
    const { signal } = new AbortController();
    vi.spyOn(signal, "throwIfAborted").mockImplementationOnce(() =>
      renameSync(join(root, "c.yaml"), join(root, to)),
    );
    const loaded = await loadManifests({ root, patterns: ["m/**/*.yaml"], sources: "stat", signal });
    expect(loaded.ok).toBe(false);
    expect(loaded.diagnostics).toMatchObject([{ code: "manifest-changed", place: { file: folder } }]);
  });

  test("is not reported when only other files change", async () => {
    const root = workspace({ "m/a.yaml": text });
    const { signal } = new AbortController();
    vi.spyOn(signal, "throwIfAborted").mockImplementationOnce(() =>
      writeFileSync(join(root, "m/a.yaml.swp"), ""),
    );
    const loaded = await loadManifests({ root, patterns: ["m/**/*.yaml"], sources: "stat", signal });
    expect(loaded.diagnostics).toEqual([]);
  });
});
