import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findFiles } from "../../../src/manifest/find-files.ts";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { workspace } from "./support.ts";

const tree = {
  "b.yaml": "",
  "a.yaml": "",
  "m/c.yml": "",
  "m/n/d.yaml": "",
  ".hidden.yaml": "",
  ".git/e.yaml": "",
  "node_modules/p/f.yaml": "",
  "m/node_modules/g.yaml": "",
};

const searches: readonly (readonly [patterns: readonly string[], files: readonly string[]])[] = [
  [
    ["./a.yaml", "a.yaml", "*.yaml"],
    ["a.yaml", "b.yaml"],
  ],
  [["m/**/*.{yaml,yml}"], ["m/c.yml", "m/n/d.yaml"]],
  [
    ["**/*.yaml", "!m/**"],
    ["a.yaml", "b.yaml"],
  ],
];

test.each(searches)("finds by the patterns %j the files %j", async (patterns, files) => {
  expect(await findFiles(workspace(tree), patterns)).toMatchObject({ files, diagnostics: [] });
});

test.each([
  ["/etc/*.yaml"],
  ["../*.yaml"],
  ["m/../../*.yaml"],
  ["{m,..}/*.yaml"],
  ["m/.."],
  ["!../x.yaml"],
  ["C:/x.yaml"],
  ["\\x.yaml"],
])("rejects the pattern %s, which leads out of the workspace", async (pattern) => {
  const { files, diagnostics } = await findFiles(workspace(tree), ["*.yaml", pattern]);
  expect(files).toEqual([]);
  expect(diagnostics.map(({ code }) => code)).toEqual(["pattern-outside-workspace"]);
});

test("accepts two dots in a range or a name", async () => {
  const { files } = await findFiles(workspace({ "m1.yaml": "", "m2.yaml": "", "a..b.yaml": "" }), [
    "m{1..2}.yaml",
    "a..b.yaml",
  ]);
  expect(files).toEqual(["a..b.yaml", "m1.yaml", "m2.yaml"]);
});

/** Each is tested next to a pattern that matches. */
const withoutMatch: readonly (readonly [pattern: string, code: string, message: string, hint: string])[] = [
  ["none/*.yaml", "no-manifests", 'The folder "none" of the pattern "none/*.yaml" does not exist', "Correct"],
  ["n/**/*.yaml", "no-manifests", 'The folder "n" of the pattern', 'Did you mean "m"?'],
  ["m/k/*.yaml", "no-manifests", 'The folder "m/k" of the pattern', 'Did you mean "m/n"?'],
  ["m/{n,o}/*.yaml", "no-manifests", 'The folder "m/o" of the pattern "m/o/*.yaml"', 'Did you mean "m/n"?'],
  [
    "m/{n,{o,n}}/*.{yaml,yml}",
    "no-manifests",
    'The folder "m/o" of the pattern "m/o/*.{yaml,yml}"',
    'Did you mean "m/n"?',
  ],
  ["m/{c,x}.yml", "manifest-missing", 'The manifest "m/x.yml" does not exist', "Create it"],
  ["m/{c,x}.{yaml,yml}", "no-manifests", 'No file matches "m/x.{yaml,yml}"', "Correct"],
  ["m/*.json", "no-manifests", 'No file matches "m/*.json"', "Correct"],
  ["m/x.yaml", "manifest-missing", 'The manifest "m/x.yaml" does not exist', "Create it"],
  ["m", "manifest-missing", '"m" is a folder, not a manifest', '"m/**/*.{yaml,yml}"'],
  ["m/", "manifest-missing", '"m/" is a folder, not a manifest', '"m/**/*.{yaml,yml}"'],
];

test.each(withoutMatch)(
  "rejects %s, which matches nothing, next to a pattern that matches",
  async (pattern, code, message, hint) => {
    const place = { file: "draftsync.yaml", line: 4, column: 3 };
    const found = await findFiles(workspace(tree), ["m/**/*.{yaml,yml}", pattern], [undefined, place]);
    expect(found.diagnostics).toMatchObject([{ severity: "error", code, place }]);
    expect(found.diagnostics[0]?.message).toContain(message);
    expect(found.diagnostics[0]?.hint).toContain(hint);
  },
);

test("returns no desired state without a pattern", async () => {
  for (const patterns of [[], ["!m/**"]]) {
    const loaded = await loadManifests({ root: workspace(tree), patterns, sources: "stat" });
    expect(loaded).toMatchObject({ ok: false, diagnostics: [{ code: "no-manifests" }] });
  }
});

describe("a YAML file next to the manifests that no pattern matches", () => {
  const files = {
    "m/a.yaml": "",
    "m/b.yml": "",
    "m/n/c.YAML": "",
    "m/.d.yml": "",
    "m/e.txt": "",
    "f.yml": "",
    "p.yaml": "",
    "k/a.yml": "",
    "k/other.txt": "",
  };
  test.each([
    [["m/**/*.yaml"], ["m/b.yml", "m/n/c.YAML"]],
    [["m/*.{yaml,yml}"], ["m/n/c.YAML"]],
    [
      ["**/*.yaml", "!k/**"],
      ["f.yml", "m/b.yml", "m/n/c.YAML"],
    ],
    [["m/**/*.yaml", "!m/*.yml", "!m/n/**"], []],
    [
      ["**/*.yaml", "!f.yml"],
      ["m/b.yml", "m/n/c.YAML"],
    ],
    [["*.yaml", "m/a.yaml", "!m/*.yml", "!m/n/**"], ["f.yml"]],
    [["*/a.yaml", "p.yaml", "!m/*.yml", "!m/n/**"], ["k/a.yml"]],
    [["*.y*ml", "*/a.y*ml", "!m/*.yml", "!m/n/**"], []],
  ])("causes a warning with the patterns %j for %j", async (patterns, unmatched) => {
    const { diagnostics } = await findFiles(workspace(files), patterns);
    expect(diagnostics.map(({ severity, code }) => `${severity} ${code}`)).toEqual(
      unmatched.length === 0 ? [] : ["warning manifest-unmatched"],
    );
    for (const file of unmatched) expect(diagnostics[0]?.message).toContain(file);
  });
});

test("reports a link to a folder with the name of a manifest as unreadable", async () => {
  const root = workspace({ "m/a.yaml": "draft: 1\n", "other/x.txt": "" });
  symlinkSync("../other", join(root, "m/dup.yaml"));
  const { files } = await findFiles(root, ["m/*.yaml"]);
  expect(files).toEqual(["m/a.yaml", "m/dup.yaml"]);
  const { diagnostics } = await loadManifests({ root, patterns: ["m/*.yaml"], sources: "stat" });
  expect(diagnostics).toMatchObject([{ code: "manifest-unreadable", place: { file: "m/dup.yaml" } }]);
});

test("reports a workspace that does not exist as unreadable, not as empty", async () => {
  const root = workspace({});
  rmSync(root, { recursive: true });
  const { diagnostics } = await findFiles(root, ["**/*.yaml"]);
  expect(diagnostics.map(({ code }) => code)).toEqual(["manifest-unreadable"]);
});

test("follows links within the workspace, and finds each file once, by its own name", async () => {
  const root = workspace({ "m/a.yaml": "", "other/b.yaml": "" });
  symlinkSync("a.yaml", join(root, "m/A-link.yaml"));
  symlinkSync("../other", join(root, "m/folder"));
  symlinkSync("..", join(root, "m/loop"));
  expect(await findFiles(root, ["m/**/*.yaml"])).toMatchObject({
    files: ["m/a.yaml", "m/folder/b.yaml"],
    diagnostics: [],
  });
});

test("follows a link in a linked folder to a folder whose name begins alike", async () => {
  const root = workspace({ "m/a.yaml": "", "t/v1/b.yaml": "", "t/v10/c.yaml": "", "t/v1-old/d.yaml": "" });
  symlinkSync("../t/v1", join(root, "m/v"));
  symlinkSync("../v10", join(root, "t/v1/ten"));
  symlinkSync("../v1-old", join(root, "t/v1/old"));
  const { files, diagnostics } = await findFiles(root, ["m/**/*.yaml"]);
  expect([files, diagnostics]).toEqual([["m/a.yaml", "m/v/b.yaml", "m/v/old/d.yaml", "m/v/ten/c.yaml"], []]);
});

test("follows a link in a linked folder to a folder within it that the patterns do not reach otherwise", async () => {
  const root = workspace({ "m/a.yaml": "", "t/team/b.yaml": "", "t/team/releases/r1/c.yaml": "" });
  symlinkSync("../t/team", join(root, "m/team"));
  symlinkSync("releases/r1", join(root, "t/team/current"));
  symlinkSync("..", join(root, "t/team/up"));
  const { files, diagnostics } = await findFiles(root, ["m/**/*.yaml", "!**/releases/**", "!**/up/**"]);
  expect([files, diagnostics]).toEqual([["m/a.yaml", "m/team/b.yaml", "m/team/current/c.yaml"], []]);
});

test("rejects a folder to which links lead in more ways than can be walked", async () => {
  const levels = Array.from({ length: 9 }, (_none, at) => `m/${at}`);
  const root = workspace(Object.fromEntries(levels.map((folder) => [`${folder}/x.yaml`, ""])));
  for (const at of levels.keys()) {
    for (const name of at === 8 ? [] : ["a", "b"]) symlinkSync(`../${at + 1}`, join(root, `m/${at}/${name}`));
  }
  const { diagnostics } = await findFiles(root, ["m/0/**/*.yaml"]);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toMatchObject([
    {
      code: "manifest-unreadable",
      message: expect.stringContaining("links below links lead to it in more than 250 ways"),
    },
  ]);
});

test("follows any number of links to one folder", async () => {
  const names = Array.from({ length: 260 }, (_none, at) => `d${at}`);
  const files = Object.fromEntries(names.map((name) => [`t/${name}/x.yaml`, ""]));
  const root = workspace({ ...files, "shared/s.yaml": "" });
  for (const name of names) symlinkSync("../../shared", join(root, `t/${name}/shared`));
  symlinkSync("t", join(root, "m"));
  for (const pattern of ["t/**/*.yaml", "m/**/*.yaml"])
    expect(await findFiles(root, [pattern])).toMatchObject({ diagnostics: [] });
});

test("rejects links out of the workspace and does not follow them", async () => {
  const outside = workspace({ "deep/x.yaml": "draft: 1\n" });
  const root = workspace({ "m/a.yaml": "" });
  symlinkSync(join(outside, "deep"), join(root, "m/folder"));
  symlinkSync(join(outside, "deep/x.yaml"), join(root, "m/x.yaml"));
  const { files, diagnostics } = await findFiles(root, ["m/**/*.yaml"]);
  expect(files).toEqual(["m/a.yaml"]);
  expect(diagnostics.map(({ code, place }) => `${code} ${place?.file}`).sort()).toEqual([
    "manifest-outside-workspace m/folder",
    "manifest-outside-workspace m/x.yaml",
  ]);
  expect(await findFiles(root, ["m/*.yaml", "!m/x.yaml"])).toMatchObject({
    files: ["m/a.yaml"],
    diagnostics: [],
  });
});

test("rejects a broken link that a pattern matches", async () => {
  const root = workspace({ "a.yaml": "" });
  symlinkSync("gone.yaml", join(root, "b.yaml"));
  symlinkSync("gone.txt", join(root, "b.txt"));
  const { files, diagnostics } = await findFiles(root, ["*.yaml"]);
  expect(files).toEqual(["a.yaml"]);
  expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([
    "manifest-unreadable Cannot read b.yaml: it does not exist, or is a link that leads nowhere",
  ]);
});

test("rejects a pipe, a link to a pipe and a folder with the name of a manifest, without waiting", async () => {
  const root = workspace({ "a.yaml": "draft: 1\n" });
  execFileSync("mkfifo", [join(root, "pipe.yaml"), join(root, "pipe.txt")]);
  symlinkSync("pipe.txt", join(root, "link.yaml"));
  mkdirSync(join(root, "folder.yaml"));
  const { diagnostics } = await loadManifests({ root, patterns: ["*.yaml"], sources: "stat" });
  expect(diagnostics.map(({ code, place }) => `${code} ${place?.file}`)).toEqual([
    "manifest-unreadable folder.yaml",
    "manifest-unreadable link.yaml",
    "manifest-unreadable pipe.yaml",
  ]);
});

test("rejects a broken link that may have led to a folder of manifests", async () => {
  const root = workspace({ "m/a.yaml": "" });
  symlinkSync("../gone", join(root, "m/shop"));
  symlinkSync("shop", join(root, "m/to-it"));
  symlinkSync("itself", join(root, "m/itself"));
  const { diagnostics } = await findFiles(root, ["m/**/*.yaml"]);
  expect(diagnostics.map(({ severity, message }) => `${severity} ${message}`).sort()).toEqual([
    "error Cannot read m/itself: it does not exist, or is a link that leads nowhere",
    "error Cannot read m/shop: it does not exist, or is a link that leads nowhere",
    "error Cannot read m/to-it: it does not exist, or is a link that leads nowhere",
  ]);
  expect(await findFiles(root, ["m/*.yaml"])).toMatchObject({ files: ["m/a.yaml"], diagnostics: [] });
  const excluded = ["m/**/*.yaml", "!m/shop/**", "!m/to-it/**", "!m/itself/**"];
  expect(await findFiles(root, excluded)).toMatchObject({ files: ["m/a.yaml"], diagnostics: [] });
});
