import { spawn } from "node:child_process";
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { exportVersion } from "../../src/ledger/transfer.ts";
import type { Folder } from "../support/cli.ts";
import { makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

/** A separate installation and a workspace. */
let folder: Folder;
let chunks: string;

const ledger = {
  format_version: exportVersion,
  lineage: "6b1f9a34-4a0e-4a0b-9d3b-0d5a4c3f7a11",
  serial: 1,
  service_origin: null,
  workspace: "w",
  confirmed_at: null,
  draft_titles: [],
  protected_drafts: [],
  maybe_published: [],
  attachments: [
    {
      draft_id: 48213,
      kind: "product_files",
      file_id: 9900011,
      address: "drafts/48213/product_files/9900011",
      attributes: {},
      provenance: { by: "post", at: 1 },
    },
  ],
  publications: [],
  duplicates: [],
  uploads: [],
  kept_values: [],
  stored_objects: [],
  refreshes: [],
  versions: [],
  operations: [],
  runs: [],
};

beforeAll(async () => {
  folder = await makeFolder({
    "workspace/draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "workspace/manifests/a.yaml": "draft: 48213\nproduct_files:\n  - file_id: 9900011\n",
    "ledger.json": JSON.stringify(ledger),
    "broken/draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "broken/manifests/a.yaml": "draft: 048213\nproduct_flies: []\n",
  });
  const install = join(folder.path, "install");
  await mkdir(join(install, "docs"), { recursive: true });
  await cp(join(repository, "dist"), join(install, "dist"), { recursive: true });
  await cp(join(repository, "package.json"), join(install, "package.json"));
  await cp(join(repository, "docs/errors.md"), join(install, "docs/errors.md"));
  // Like pnpm: links to the dependencies, which find their own dependencies next to the link targets.
  for (const name of Object.keys(packageJson.dependencies)) {
    const link = join(install, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(repository, "node_modules", name), link);
  }
  chunks = join(install, "dist/chunks");
});
afterAll(() => folder.dispose());

interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function node(args: readonly string[], cwd = folder.path): Promise<Output> {
  const env = { PATH: process.env.PATH, HOME: folder.path };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("close", (code) => done({ code, ...output }));
  });
}

const draftsync = (args: readonly string[], workspace = "workspace") =>
  node([join(chunks, "../cli/main.js"), ...args], join(folder.path, workspace));

test("an installed package plans, reports manifest errors, explains codes and prints help without writing to its folder", async () => {
  const before = await contentOf(chunks);
  const [plan, broken, explained, help] = await Promise.all([
    draftsync(["plan", "--detailed-exitcode"]),
    draftsync(["plan"], "broken"),
    draftsync(["explain", "config-missing"]),
    draftsync(["plan", "--help"]),
  ]);
  expect([plan, broken, explained, help].map((ended) => ended?.code)).toEqual([2, 1, 0, 0]);
  expect(plan?.stdout).toContain("drafts/48213");
  expect(broken?.stderr).toContain("product_flies");
  expect(await contentOf(chunks)).toEqual(before);
});

test("an installed package finds its dependencies through links when its output is a pipe", async () => {
  expect(await draftsync(["state", "import", "../ledger.json"])).toMatchObject({ code: 0 });
  const listed = await draftsync(["state", "list"]);
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("9900011") });
});

test("the stack trace of a defect names a function and a line", async () => {
  const main = pathToFileURL(join(chunks, "../cli/main.js")).href;
  const code = `process.argv.splice(1, Infinity, "main", "schema", "config");
    process.env.DRAFTSYNC_DEBUG = "1";
    JSON.stringify = () => { throw new TypeError("made for this test"); };
    await import("${main}");`;
  const { stderr } = await node(["--input-type=module", "--eval", code]);
  expect(stderr).toContain("made for this test");
  expect(stderr).toMatch(/ at (?:Module\.)?configJsonSchema \(.*\/chunks\/\S+\.js:\d+:\d+\)/);
});

async function contentOf(path: string): Promise<readonly string[]> {
  return (await readdir(path)).sort();
}
