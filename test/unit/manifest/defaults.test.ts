import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeLocationFinder } from "../../../src/cli/runtime/manifests.ts";
import { addDrafts, formatDraft } from "../../../src/manifest/format-draft.ts";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { formatAddress } from "../../../src/model/address.ts";
import { complete } from "../../support/complete.ts";
import { briefsWithFile, load, workspace } from "./support.ts";

const defaults = (attributes: string) => `defaults:\n  product_files: { ${attributes} }\n`;
const draft = (id: number, entry: string) => `draft: ${id}\nproduct_files:\n  - ${entry}\n`;

async function attributesIn(files: Readonly<Record<string, string>>) {
  const { desired } = complete(await load(files));
  return desired.drafts.map(({ attachments }) => attachments.map(({ attributes }) => attributes));
}

describe("defaults", () => {
  test("apply to the manifests in their folder and below, in any order of files", async () => {
    expect(
      await attributesIn({
        "a.yaml": draft(1, "file_id: 1"),
        "m/a.yaml": draft(2, "file_id: 2"),
        "m/deep/er/b.yaml": draft(3, "file_id: 3"),
        "m/z.yaml": defaults("renderer: arnold"),
      }),
    ).toEqual([[{}], [{ renderer: "arnold" }], [{ renderer: "arnold" }]]);
  });

  test("are overridden, attribute by attribute, by nearer defaults and by the entry itself", async () => {
    expect(
      await attributesIn({
        "a.yaml": defaults('renderer: arnold, renderer_version: "7.2", is_native: true'),
        "m/a.yaml": `${defaults("renderer: vray")}---\n${draft(1, "{ file_id: 1, is_native: false }")}`,
        "m/b.yaml": draft(2, '{ file_id: 2, renderer: "" }'),
      }),
    ).toEqual([
      [{ renderer: "vray", renderer_version: "7.2", is_native: false }],
      [{ renderer: "", renderer_version: "7.2", is_native: true }],
    ]);
  });

  test("do not apply to an entry with `defaults: false`, nor to the other list", async () => {
    expect(
      await attributesIn({
        "a.yaml": `${defaults("renderer: arnold")}  promotional_files: { description: Render }\n`,
        "b.yaml": `${draft(1, "{ file_id: 1, defaults: false }")}promotional_files:\n  - file_id: 2\n`,
      }),
    ).toEqual([[{}, { description: "Render" }]]);
  });

  test.each([
    ["of a wrong type", "renderer: 7.2", "m/d.yaml:2:30 unquoted-text «7.2»"],
    ["of null", "renderer: null", "m/d.yaml:2:30 null-value «null»"],
    ["of an unknown attribute", "rendrer: arnold", "m/d.yaml:2:20 unknown-key «rendrer»"],
    ["that declare a file", "file_id: 1", "m/d.yaml:2:20 unknown-key «file_id»"],
  ])("%s are reported once, at their own line", async (_name, attributes, expected) => {
    const { diagnostics } = await load({
      "m/a.yaml": draft(1, "file_id: 1"),
      "m/b.yaml": draft(2, "file_id: 2"),
      "m/d.yaml": defaults(attributes),
    });
    expect(briefsWithFile(diagnostics)).toEqual([expected]);
  });

  test.each(["publish: true", "protect: true"])("are rejected with %s", async (key) => {
    const { diagnostics } = await load({ "d.yaml": `defaults:\n  ${key}\n` });
    expect(diagnostics).toMatchObject([{ code: "unknown-key", place: { line: 2 } }]);
  });

  test("are rejected in a second document of the same folder", async () => {
    const { diagnostics } = await load({
      "m/a.yaml": defaults("renderer: arnold"),
      "m/b.yaml": defaults("renderer: vray"),
      "m/c/c.yaml": defaults("renderer: vray"),
    });
    expect(briefsWithFile(diagnostics)).toEqual(["m/b.yaml:1:1 duplicate-defaults «defaults»"]);
    expect(diagnostics[0]?.message).toBe("The defaults of this folder are at m/a.yaml:2:3 already");
  });

  test("apply in each folder that links to them", async () => {
    const root = workspace({
      "m/a/defaults.yaml": defaults("renderer: arnold"),
      "m/a/a.yaml": draft(1, "file_id: 1"),
      "m/b/b.yaml": draft(2, "file_id: 2"),
    });
    symlinkSync("../a/defaults.yaml", join(root, "m/b/defaults.yaml"));
    const { desired } = complete(await loadManifests({ root, patterns: ["m/**/*.yaml"], sources: "stat" }));
    const values = desired.drafts.flatMap(({ attachments }) =>
      attachments.map(({ attributes }) => attributes),
    );
    expect(values).toEqual([{ renderer: "arnold" }, { renderer: "arnold" }]);
  });

  test("are rejected in the document of a draft", async () => {
    const { diagnostics } = await load({ "a.yaml": `draft: 1\n${defaults("renderer: arnold")}` });
    expect(diagnostics).toMatchObject([{ code: "mixed-document", place: { line: 2, column: 1 } }]);
  });

  test("are the location of an error about one of their values", async () => {
    const { desired } = complete(
      await load({
        "a.yaml": draft(1, "{ file_id: 1, renderer: vray }"),
        "d.yaml": defaults('renderer: arnold, renderer_version: "7.2"'),
      }),
    );
    const [address] = desired.drafts.flatMap(({ attachments }) =>
      attachments.map((each) => formatAddress(each.address)),
    );
    const find = makeLocationFinder(desired);
    expect(find(address ?? "", "renderer_version")).toMatchObject({ file: "d.yaml", line: 2 });
    expect(find(address ?? "", "renderer")).toMatchObject({ file: "a.yaml", line: 3 });
    expect(find(address ?? "", "format_version")).toMatchObject({ file: "a.yaml", line: 3, column: 5 });
  });
});

test("keeps every existing character of a manifest when it adds an entry", async () => {
  const text =
    "draft: 1\npromotional_files:\n  - file_id: 1\n    description: |\n      👩‍🚀 soft\u00adhyphen, a\u2028b\n";
  const added = await load({
    "a.yaml": "draft: 1\npromotional_files: [{ file_id: 2, description: '👩‍🚀' }]\n",
  });
  const { desired } = complete(
    await load({ "a.yaml": addDrafts(text, complete(added).desired.drafts) ?? "" }),
  );
  expect(desired.drafts[0]?.attachments.map(({ attributes }) => attributes.description)).toEqual([
    "👩‍🚀 soft\u00adhyphen, a\u2028b\n",
    "👩‍🚀",
  ]);
});

test.each([
  ["a list that is an alias", "product_files: &files [{ file_id: 1 }]\npromotional_files: *files\n"],
  [
    "a list whose anchor another list uses",
    "promotional_files: &files\n  - file_id: 1\nproduct_files: *files\n",
  ],
  [
    "an empty block that would absorb the next entry",
    "promotional_files:\n  - file_id: 1\n    description: | # later\n  - file_id: 3\n",
  ],
])("adds nothing to a manifest when that would change something else: %s", async (_name, text) => {
  const added = await load({ "a.yaml": "draft: 1\npromotional_files: [{ file_id: 2 }]\n" });
  const { drafts } = complete(added).desired;
  expect(addDrafts(`draft: 1\n${text}`, drafts)).toBeUndefined();
  expect(addDrafts("draft: 1\npromotional_files:\n  - file_id: 1\n", drafts)).toBe(
    "draft: 1\npromotional_files:\n  - file_id: 1\n  - file_id: 2\n",
  );
});

test("prints a draft with the location of each default", async () => {
  const { desired } = complete(
    await load({
      "m/a.yaml": `draft: 48213\ntitle: Sea Serpent\nproduct_files:\n  - source: f/a.fbx\n    file_format: fbx\npublish: true\n`,
      "m/f/a.fbx": "x",
      "d.yaml": defaults('renderer: arnold, renderer_version: "7.2"'),
    }),
  );
  expect(desired.drafts.map(formatDraft).join()).toBe(
    `# m/a.yaml:1

draft: 48213
title: Sea Serpent
product_files:
  - source: f/a.fbx
    file_format: fbx
    renderer: arnold # d.yaml:2
    renderer_version: "7.2" # d.yaml:2
publish: true
`,
  );
});

describe("a description_file", () => {
  const manifest = (rest = "") =>
    `draft: 1\npromotional_files:\n  - file_id: 1\n    description_file: texts/a.md\n${rest}`;
  const loadText = (text: string | Uint8Array, rest?: string) =>
    load({ "m/a.yaml": manifest(rest), "m/texts/a.md": text });

  test.each([
    ["with tabs and characters of every script", "One\n\n  two\t\u0085 é 海 🐉\n"],
    ["with blank lines that a YAML block cannot hold", " \n\nindented first\n\n\n"],
  ])("is read unchanged %s", async (_name, text) => {
    const { desired } = complete(await loadText(text));
    expect(desired.drafts[0]?.attachments[0]?.attributes).toEqual({ description: text });
  });

  test("is read with line feeds and without byte order mark, like a manifest", async () => {
    const { desired } = complete(await loadText("\ufeffone\r\ntwo\rthree"));
    expect(desired.drafts[0]?.attachments[0]?.attributes).toEqual({ description: "one\ntwo\nthree" });
  });

  test("overrides the description of the defaults", async () => {
    const rest = "---\ndefaults: { promotional_files: { description: Render } }\n";
    const { desired } = complete(await loadText("own", rest));
    expect(desired.drafts[0]?.attachments[0]?.attributes).toEqual({ description: "own" });
  });

  test("may be used by several entries, and as a source", async () => {
    const text = "draft: 1\npromotional_files:\n";
    const entries = ["file_id: 1", "file_id: 2", "source: t.md"].map(
      (name) => `  - { ${name}, description_file: t.md }\n`,
    );
    const { desired } = complete(await load({ "a.yaml": text + entries.join(""), "t.md": "x" }, "hash"));
    expect(desired.drafts[0]?.attachments.map(({ attributes }) => attributes.description)).toEqual([
      "x",
      "x",
      "x",
    ]);
  });

  test.each([
    ["with a description next to it", "    description: too\n", "ambiguous-description"],
    [
      "in a product file",
      "product_files:\n  - { file_id: 2, description_file: texts/a.md }\n",
      "unknown-key",
    ],
  ])("is rejected %s", async (_name, rest, code) => {
    expect((await loadText("x", rest)).diagnostics).toMatchObject([{ severity: "error", code }]);
  });

  test.each([
    ["empty", "", "source-empty", /write description: "" instead/],
    ["blank", "\ufeff \r\n", "source-empty", /write description: "" instead/],
    ["a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\n", "source-is-lfs-pointer", /lfs/],
    ["not UTF-8", Uint8Array.of(0xe9, 0x20), "not-utf8", /UTF-8/],
    ["with a control character", "a\nb\0", "control-character", /Remove it/],
    [
      "with a merge conflict",
      "A\n<<<<<<< HEAD\nold\n=======\nnew\n>>>>>>> topic\n",
      "merge-conflict",
      /keep one of the two/,
    ],
    ["too large", "x".repeat(1024 * 1024 + 1), "text-too-large", /alone/],
  ])("is rejected at its line: %s", async (_name, text, code, hint) => {
    const { ok, diagnostics } = await loadText(text);
    expect(ok).toBe(false);
    expect(diagnostics).toMatchObject([{ code, place: { file: "m/a.yaml", line: 4, column: 23 } }]);
    expect(diagnostics[0]?.hint).toMatch(hint);
  });

  test.each([
    ["missing", "texts/b.md", "source-missing"],
    ["outside the workspace", "../../b.md", "source-outside-workspace"],
    ["absolute", "/etc/hostname", "source-path"],
    ["a folder", "texts", "source-not-a-file"],
  ])("is rejected when its path is %s", async (_name, path, code) => {
    const text = `draft: 1\npromotional_files:\n  - { file_id: 1, description_file: ${path} }\n`;
    const { diagnostics } = await load({ "m/a.yaml": text, "m/texts/a.md": "x" });
    expect(diagnostics).toMatchObject([{ severity: "error", code, place: { line: 3 } }]);
  });

  test("is rejected when it is hidden, or a secret file of the config", async () => {
    const text = "draft: 1\npromotional_files:\n  - { file_id: 1, description_file: F }\n";
    for (const file of [".git/config", "sub/.env", "keys/main"]) {
      const root = workspace({ "a.yaml": text.replace("F", file), [file]: "secret" });
      const secretFiles = [join(root, "keys/main")];
      const loaded = await loadManifests({ root, patterns: ["a.yaml"], sources: "stat", secretFiles });
      expect(loaded.diagnostics).toMatchObject([{ severity: "error", code: "source-is-secret" }]);
    }
  });

  test("is rejected when it changes while it is read", async () => {
    const text = "draft: 1\npromotional_files:\n  - { file_id: 1, description_file: a.md }\n";
    const root = workspace({ "a.yaml": text, "a.md": "first half" });
    let written = "first half";
    const writer = setInterval(() => {
      written += ".";
      writeFileSync(join(root, "a.md"), written);
    }, 1);
    const { diagnostics } = await loadManifests({ root, patterns: ["a.yaml"], sources: "stat" }).finally(() =>
      clearInterval(writer),
    );
    expect(diagnostics).toMatchObject([{ severity: "error", code: "source-changed" }]);
  });

  test("is checked although its entry has another mistake", async () => {
    const text = "draft: 1\npromotional_files:\n  - { file_id: 1, descripton: x, description_file: no.md }\n";
    const { diagnostics } = await load({ "a.yaml": text });
    expect(diagnostics.map(({ code }) => code)).toEqual(["unknown-key", "source-missing"]);
  });
});
