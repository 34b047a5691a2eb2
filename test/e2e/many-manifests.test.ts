import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder, startShell } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

/** Enough manifests for the cache and the worker pool. */
const count = 2_100;
let folder: Folder;

const manifest = (draft: number) => `draft: ${draft}\nproduct_files:\n  - file_id: ${draft}\n`;

beforeAll(async () => {
  folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    ...Object.fromEntries(
      Array.from({ length: count }, (_none, at) => [`manifests/${at + 1}.yaml`, manifest(at + 1)]),
    ),
  });
});
afterAll(() => folder.dispose());

const twice = (draft: string) =>
  `${draft},${draft.replace('"draftId":5,', '"draftId":9999,').replaceAll('"fileId":5', '"fileId":9999')}`;

const cacheHome = () => join(folder.path, "cache");
const validate = () => draftsync(["validate"], { cwd: folder.path, env: { XDG_CACHE_HOME: cacheHome() } });

test("many manifests are parsed once, and a changed manifest is parsed again", async () => {
  const valid = { code: 0, stdout: expect.stringContaining("2,100 drafts, 2,100 attachments") };
  expect(await validate()).toMatchObject(valid);
  const [name = ""] = readdirSync(join(cacheHome(), "draftsync"));
  const path = join(cacheHome(), "draftsync", name);
  // The forged cache has a second draft in a manifest, so the output shows that the second run uses it.
  const [head = "", ...lines] = readFileSync(path, "utf8").split("\n");
  const body = lines
    .map((line) => line.replace(/(?<="drafts":\[)({"draftId":5,.*})(?=\],"duplicates")/, twice))
    .join("\n");
  const sha256 = createHash("sha256").update(body).digest("base64url");
  writeFileSync(path, `${JSON.stringify({ ...JSON.parse(head), sha256 })}\n${body}`);
  expect(await validate()).toMatchObject({ code: 0, stdout: expect.stringContaining("2,101 drafts") });
  writeFileSync(join(folder.path, "manifests/5.yaml"), `${manifest(5)}    file_formt: fbx\n`);
  const { code, stderr } = await validate();
  expect(code).toBe(1);
  expect(stderr).toContain("manifests/5.yaml:4:5");
  expect(stderr).toContain("file_formt: fbx");
  writeFileSync(join(folder.path, "manifests/5.yaml"), manifest(5));
  expect(await validate()).toMatchObject(valid);
});

test("a program with different rules and the same modification times ignores the parse cache", async () => {
  const copy = await makeFolder({});
  onTestFinished(() => copy.dispose());
  const program = join(copy.path, "program");
  cpSync(join(repository, "dist"), join(program, "dist"), { recursive: true, preserveTimestamps: true });
  cpSync(join(repository, "package.json"), join(program, "package.json"));
  symlinkSync(join(repository, "node_modules"), join(program, "node_modules"));
  const names = readdirSync(join(program, "dist"), { recursive: true, encoding: "utf8" });
  const scripts = names.filter((name) => name.endsWith(".js")).map((name) => join(program, "dist", name));
  const rules = scripts.filter((path) => readFileSync(path, "utf8").includes("is not known "));
  expect(rules).not.toEqual([]);
  for (const path of rules) {
    const { atime, mtime } = statSync(path);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll("is not known ", "is no known one "));
    utimesSync(path, atime, mtime);
  }
  const options = { cwd: folder.path, env: { XDG_CACHE_HOME: cacheHome() } };
  writeFileSync(join(folder.path, "manifests/5.yaml"), `${manifest(5)}    file_formt: fbx\n`);
  onTestFinished(() => writeFileSync(join(folder.path, "manifests/5.yaml"), manifest(5)));
  expect((await validate()).stderr).toContain("is not known ");
  const other = `"${process.execPath}" "${join(program, "dist/cli/main.js")}" validate`;
  expect((await startShell(other, options).ended).stderr).toContain("is no known one ");
});

test("the parse cache is not stored in the workspace", () => {
  expect(existsSync(join(folder.path, ".draftsync"))).toBe(false);
});
