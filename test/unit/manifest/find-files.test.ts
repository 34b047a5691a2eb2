import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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
  [["**/*.yaml"], ["a.yaml", "b.yaml", "m/n/d.yaml"]],
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

test.each(searches)("%j finds %j", async (patterns, files) => {
  expect(await findFiles(workspace(tree), patterns)).toEqual({ files, diagnostics: [] });
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
])("the pattern %s leads out of the workspace", async (pattern) => {
  const { files, diagnostics } = await findFiles(workspace(tree), ["*.yaml", pattern]);
  expect(files).toEqual([]);
  expect(diagnostics.map(({ code }) => code)).toEqual(["pattern-outside-workspace"]);
});

test("two dots in a range or a name are no step up", async () => {
  const { files } = await findFiles(workspace({ "m1.yaml": "", "m2.yaml": "", "a..b.yaml": "" }), [
    "m{1..2}.yaml",
    "a..b.yaml",
  ]);
  expect(files).toEqual(["a..b.yaml", "m1.yaml", "m2.yaml"]);
});

test.each([[["none/*.yaml", "m/x.yaml"]], [[]], [["m"]]])(
  "%j matches nothing, which is an error",
  async (patterns) => {
    const result = await loadManifests({ root: workspace(tree), patterns, sources: "stat" });
    expect(result.diagnostics).toMatchObject([{ severity: "error", code: "no-manifests" }]);
    expect(result.ok).toBe(false);
  },
);

test("a workspace that is not there is an error, not an empty one", async () => {
  const root = workspace({});
  rmSync(root, { recursive: true });
  const { diagnostics } = await findFiles(root, ["**/*.yaml"]);
  expect(diagnostics.map(({ code }) => code)).toEqual(["manifest-unreadable"]);
});

test("links are followed inside of the workspace, and each file is found once, under its own name", async () => {
  const root = workspace({ "m/a.yaml": "", "other/b.yaml": "" });
  symlinkSync("a.yaml", join(root, "m/A-link.yaml"));
  symlinkSync("../other", join(root, "m/folder"));
  symlinkSync("..", join(root, "m/loop"));
  expect(await findFiles(root, ["m/**/*.yaml"])).toEqual({
    files: ["m/a.yaml", "m/folder/b.yaml"],
    diagnostics: [],
  });
});

test("links out of the workspace are errors and are not entered", async () => {
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
  expect(await findFiles(root, ["m/*.yaml", "!m/x.yaml"])).toEqual({ files: ["m/a.yaml"], diagnostics: [] });
});

test("a link that leads nowhere is an error when a pattern names it", async () => {
  const root = workspace({ "a.yaml": "" });
  symlinkSync("gone.yaml", join(root, "b.yaml"));
  symlinkSync("gone.txt", join(root, "b.txt"));
  const { files, diagnostics } = await findFiles(root, ["*.yaml"]);
  expect(files).toEqual(["a.yaml"]);
  expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([
    "manifest-unreadable Cannot read b.yaml: it is not there, or a link that leads nowhere",
  ]);
});

test("pipes and folders with the name of a manifest are passed over", async () => {
  const root = workspace({ "a.yaml": "" });
  execFileSync("mkfifo", [join(root, "pipe.yaml")]);
  mkdirSync(join(root, "folder.yaml"));
  expect(await findFiles(root, ["*.yaml"])).toEqual({ files: ["a.yaml"], diagnostics: [] });
});

test("a link to a pipe is refused without waiting for a writer", async () => {
  const root = workspace({ "a.yaml": "draft: 1\n" });
  execFileSync("mkfifo", [join(root, "pipe")]);
  symlinkSync("pipe", join(root, "b.yaml"));
  const { diagnostics } = await loadManifests({ root, patterns: ["*.yaml"], sources: "stat" });
  expect(diagnostics).toMatchObject([{ code: "manifest-unreadable", place: { file: "b.yaml" } }]);
});
