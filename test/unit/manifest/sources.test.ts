import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import { complete } from "../../support/complete.ts";
import { briefs, workspace } from "./support.ts";

const one = (source: string) => `draft: 1\nproduct_files:\n  - source: ${source}\n`;

function loadIn(root: string, sources: "hash" | "stat" = "hash") {
  return loadManifests({ root, patterns: ["m/*.yaml"], sources });
}

describe("two sources with the same content", () => {
  const list = (kind: string) => `${kind}:\n  - source: a.fbx\n  - source: b.fbx\n`;
  const load = (manifest: string, second: string) =>
    loadIn(workspace({ "m/a.yaml": manifest, "m/a.fbx": "same", "m/b.fbx": second }));

  test.each(["product_files", "promotional_files"])("are rejected in %s, with both named", async (kind) => {
    const { diagnostics } = await load(`draft: 1\n${list(kind)}`, "same");
    expect(diagnostics).toMatchObject([
      {
        severity: "error",
        code: "same-content-twice",
        message: 'The source "m/b.fbx" has the same content as "m/a.fbx" on line 3',
        place: { file: "m/a.yaml", line: 4 },
      },
    ]);
  });

  test("are accepted with different contents or in different lists", async () => {
    expect((await load(`draft: 1\n${list("product_files")}`, "other")).diagnostics).toEqual([]);
    const lists = "draft: 1\nproduct_files: [{ source: a.fbx }]\npromotional_files: [{ source: b.fbx }]\n";
    expect(
      (await load(`${lists}---\ndraft: 2\nproduct_files: [{ source: b.fbx }]\n`, "same")).diagnostics,
    ).toEqual([]);
  });
});

test("rejects a link to a secret file of the config", async () => {
  const root = workspace({ "m/a.yaml": one("key.bin"), "keys/main": "secret" });
  symlinkSync("../keys/main", join(root, "m/key.bin"));
  const secretFiles = [join(root, "keys/main"), join(root, "keys/none")];
  const { diagnostics } = await loadManifests({ root, patterns: ["m/*.yaml"], sources: "hash", secretFiles });
  expect(diagnostics).toMatchObject([{ severity: "error", code: "source-is-secret", place: { line: 3 } }]);
});

type Prepare = (path: string) => void | Promise<void>;

const none: Prepare = () => {};
const link =
  (target: string): Prepare =>
  (path) =>
    symlinkSync(target, path);
const file =
  (text: string): Prepare =>
  (path) =>
    writeFileSync(path, text);
const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 12345\n`;

/** What is wrong; the source; what makes it at its path; the code and part of the message. */
const failures: readonly [name: string, source: string, prepare: Prepare, code: string, message: string][] = [
  ["does not exist", "x.fbx", none, "source-missing", '"m/x.fbx" is not there'],
  ["is below a file", "a.yaml/x", none, "source-missing", '"m/a.yaml/x" is not there'],
  ["is a folder", "dir/", (path) => mkdirSync(path), "source-not-a-file", "is a folder"],
  ["is a pipe", "pipe", (path) => void execFileSync("mkfifo", [path]), "source-not-a-file", "is a pipe"],
  ["is a socket", "socket", listen, "source-not-a-file", "is a device or socket"],
  ["is a Git LFS pointer", "x.fbx", file(pointer), "source-is-lfs-pointer", "is a Git LFS pointer"],
  ["is empty", "x.fbx", file(""), "source-empty", "is empty"],
  ["is above the workspace", "../../x", none, "source-outside-workspace", "outside"],
  ["is the workspace", "..", none, "source-outside-workspace", "outside"],
  ["is a link to a device", "x", link("/dev/null"), "source-outside-workspace", "link that leads out"],
  [
    "is a link out of the workspace",
    "x",
    link(process.execPath),
    "source-outside-workspace",
    "link that leads out",
  ],
  ["is a broken link", "x", link("gone"), "source-missing", "not there"],
  ["is a link to itself", "x", link("x"), "source-unreadable", "ELOOP"],
];

test("rejects a source in a folder that is a link out of the workspace", async () => {
  const root = workspace({ "m/a.yaml": one("bin/node") });
  symlinkSync(join(process.execPath, ".."), join(root, "m/bin"));
  for (const mode of ["hash", "stat"] as const)
    expect(briefs((await loadIn(root, mode)).diagnostics)).toEqual([
      "3:13 source-outside-workspace «bin/node»",
    ]);
});

test.each(failures)("rejects a source that %s", async (_name, source, prepare, code, message) => {
  const root = workspace({ "m/a.yaml": one(source) });
  await prepare(join(root, "m", source));
  for (const mode of ["hash", "stat"] as const) {
    const { diagnostics } = await loadIn(root, mode);
    expect(briefs(diagnostics)).toEqual([`3:13 ${code} «${source}»`]);
    expect(diagnostics[0]?.message).toContain(message);
    expect(diagnostics[0]?.hint?.length).toBeGreaterThan(10);
  }
});

async function listen(path: string): Promise<void> {
  const server = createServer();
  onTestFinished(() => new Promise<void>((done) => void server.close(() => done())));
  await new Promise<void>((done) => void server.listen(path, done));
}

test("follows links to files and folders within the workspace", async () => {
  const root = workspace({
    "m/a.yaml": `${one("link")}  - source: folder/y\n`,
    "files/x": "x",
    "files/y": "yy",
  });
  symlinkSync("../files/x", join(root, "m/link"));
  symlinkSync("../files", join(root, "m/folder"));
  const { diagnostics, desired } = complete(await loadIn(root));
  expect(diagnostics).toEqual([]);
  expect(desired.drafts[0]?.attachments.map(({ content }) => content?.size)).toEqual([1, 2]);
});

test("reads a workspace through a link", async () => {
  const root = workspace({ "real/m/a.yaml": one("x"), "real/m/x": "x" });
  symlinkSync("real", join(root, "ws"));
  const { diagnostics, files } = await loadIn(join(root, "ws"));
  expect(diagnostics).toEqual([]);
  expect(files).toEqual(["m/a.yaml"]);
});

test("gives every use of a source its content", async () => {
  const root = workspace({
    "m/a.yaml": `${one("../x")}promotional_files:\n  - source: ../x\n`,
    "m/b.yaml": "draft: 2\nproduct_files:\n  - source: ../x\n",
    x: "x",
  });
  linkSync(join(root, "x"), join(root, "m/hard"));
  const { desired } = complete(await loadIn(root));
  const contents = desired.drafts.flatMap(({ attachments }) =>
    attachments.map(({ content }) => content?.size),
  );
  expect(contents).toEqual([1, 1, 1]);
});

test("reports every use of a missing source", async () => {
  const root = workspace({
    "m/a.yaml": `${one("../x")}  - source: gone\n`,
    "m/b.yaml": "draft: 2\nproduct_files:\n  - source: ../x\n  - source: gone\n",
    x: "x",
  });
  const { diagnostics } = await loadIn(root);
  expect(briefs(diagnostics)).toEqual(["4:13 source-missing «gone»", "4:13 source-missing «gone»"]);
});

test("reads no content with stat", async () => {
  const root = workspace({ "m/a.yaml": one("x"), "m/x": "x" });
  const { desired, diagnostics } = complete(await loadIn(root, "stat"));
  expect(diagnostics).toEqual([]);
  expect(desired.drafts[0]?.attachments[0]).not.toHaveProperty("content");
});

test("accepts names with spaces, quotes and other scripts", async () => {
  const root = workspace({ "m/a.yaml": one('"f/a b \\"ü\\" 龍.fbx"'), 'm/f/a b "ü" 龍.fbx': "x" });
  const { desired, diagnostics } = complete(await loadIn(root));
  expect(diagnostics).toEqual([]);
  expect(desired.drafts[0]?.attachments[0]?.address.ref).toEqual({
    by: "source",
    source: 'm/f/a b "ü" 龍.fbx',
  });
});
