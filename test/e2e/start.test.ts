import { spawn } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sealCompiled } from "../../src/cli/load-script.ts";
import type { Folder } from "../support/cli.ts";
import { makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

/** An installation of its own, which a test may damage, and a workspace. */
let folder: Folder;
let chunks: string;
let compiled: string;
let intact: Buffer;

beforeAll(async () => {
  folder = await makeFolder({
    "workspace/draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "workspace/manifests/a.yaml": "draft: 48213\nproduct_files:\n  - file_id: 9900011\n",
    "broken/draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "broken/manifests/a.yaml": "draft: 048213\nproduct_flies: []\n",
  });
  const install = join(folder.path, "install");
  await mkdir(join(install, "docs"), { recursive: true });
  await cp(join(repository, "dist"), join(install, "dist"), { recursive: true });
  await cp(join(repository, "package.json"), join(install, "package.json"));
  await cp(join(repository, "docs/errors.md"), join(install, "docs/errors.md"));
  await symlink(join(repository, "node_modules"), join(install, "node_modules"));
  chunks = join(install, "dist/chunks");
  const [name = ""] = (await readdir(chunks)).filter((file) => file.endsWith(".v8"));
  compiled = join(chunks, name);
  intact = await readFile(compiled);
});
afterAll(() => folder.dispose());

interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function node(args: readonly string[], cwd = folder.path): Promise<Said> {
  const env = { PATH: process.env.PATH, HOME: folder.path };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("close", (code) => done({ code, ...said }));
  });
}

const draftsync = (args: readonly string[], workspace = "workspace", flags: readonly string[] = []) =>
  node([...flags, join(chunks, "../cli/main.js"), ...args], join(folder.path, workspace));

/** What is the same in every run, of a plan, of mistakes, and of a command that is in no plan. */
async function everything(flags?: readonly string[]): Promise<readonly Said[]> {
  return Promise.all([
    draftsync(["plan", "--detailed-exitcode"], "workspace", flags),
    draftsync(["plan"], "broken", flags),
    draftsync(["explain", "config-missing"], "workspace", flags),
    draftsync(["plan", "--help"], "workspace", flags),
  ]);
}

test("V8 takes what the build has kept for it", async () => {
  const loader = pathToFileURL(join(chunks, "load-core.cjs")).href;
  const code = `import core from "${loader}"; process.stdout.write(String(core.script.cachedDataRejected));`;
  expect(await node(["--input-type=module", "--eval", code])).toMatchObject({ stdout: "false", stderr: "" });
});

describe("what a user sees does not hang on it", () => {
  let expected: readonly Said[];

  beforeAll(async () => {
    await writeFile(compiled, intact);
    expected = await everything();
  });

  test("a plan, its mistakes, an explanation and help are there", () => {
    expect(expected.map(({ code }) => code)).toEqual([2, 1, 0, 0]);
    expect(expected[0]?.stdout).toContain("drafts/48213");
    expect(expected[1]?.stderr).toContain("product_flies");
  });

  test.each([
    { name: "nothing", bytes: () => undefined },
    { name: "a torn file", bytes: () => intact.subarray(0, intact.length >> 1) },
    {
      name: "a file with a wrong byte",
      bytes: () => {
        const bytes = Buffer.from(intact);
        bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
        return bytes;
      },
    },
    { name: "other data", bytes: () => sealCompiled(Buffer.from("nothing that V8 has made")) },
  ])("$name is kept", async ({ bytes }) => {
    const content = bytes();
    if (content === undefined) await rm(compiled);
    else await writeFile(compiled, content);
    expect(await everything()).toEqual(expected);
  });

  test("V8 runs with flags of its own", async () => {
    await writeFile(compiled, intact);
    expect(await everything(["--no-opt", "--max-lazy"])).toEqual(expected);
  });
});

test("a defect is traced to a function and a line", async () => {
  await writeFile(compiled, intact);
  const loader = pathToFileURL(join(chunks, "load-core.cjs")).href;
  const code = `import core from "${loader}";
    const found = Object.values(core.exports).find((each) => each?.name === "loadConfig");
    await found({}).catch(({ stack }) => process.stdout.write(stack));`;
  const { stdout } = await node(["--input-type=module", "--eval", code]);
  expect(stdout).toMatch(/ at .*loadConfig \(core\.cjs:\d+:\d+\)/);
});

test("no start writes to where it is installed", async () => {
  const before = await contentOf(chunks);
  await writeFile(compiled, intact);
  await everything();
  await rm(compiled);
  await everything();
  await writeFile(compiled, intact);
  expect(await contentOf(chunks)).toEqual(before);
});

test("a command that waits for what never comes does not end as if it were done", async () => {
  const stuck = join(folder.path, "stuck");
  await cp(join(chunks, "../cli"), join(stuck, "dist/cli"), { recursive: true });
  await cp(join(repository, "package.json"), join(stuck, "package.json"));
  await mkdir(join(stuck, "dist/chunks"));
  const core = "exports.exports = new Proxy({}, { get: () => () => new Promise(() => {}) });";
  await writeFile(join(stuck, "dist/chunks/load-core.cjs"), core);
  const main = join(stuck, "dist/cli/main.js");
  expect(await node([main, "plan"])).toMatchObject({ code: 13 });
  expect(await node([main, "--version"])).toMatchObject({ code: 0 });
});

async function contentOf(path: string): Promise<readonly string[]> {
  return (await readdir(path)).sort();
}
