import { spawn } from "node:child_process";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

let folder: Folder;
const ids = Array.from({ length: 12 }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");
const config = (name: string) => `version: 1\nworkspace: ${name}\nservice: sandbox\n`;

beforeEach(async () => {
  folder = await makeFolder({
    "one/draftsync.yaml": config("one"),
    "one/manifests/a.yaml": `draft: 1\nproduct_files: [${ids}]\npublish: true\n`,
    "two/draftsync.yaml": config("two"),
    "two/manifests/a.yaml": "draft: 2\nproduct_files: [{ file_id: 1 }]\n",
  });
});
afterEach(() => folder.dispose());

/** Runs a shell line; `$draftsync` is the binary. */
function shell(line: string, cwd: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, draftsync: `${process.execPath} ${repository}dist/cli/main.js` };
  const child = spawn("bash", ["-c", `set -o pipefail; ${line}`], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((done) => child.once("close", (code) => done({ code, stdout, stderr })));
}

describe("an output whose reader has left", () => {
  test.each([
    { name: "standard output", line: "$draftsync apply --auto-approve --json | head -1" },
    { name: "standard error", line: "$draftsync apply --auto-approve 2> >(head -1 >/dev/null)" },
  ])("$name: apply goes on to its end", async ({ line }) => {
    const cwd = join(folder.path, "one");
    expect((await shell(line, cwd)).code).toBe(0);
    expect((await draftsync(["plan"], { cwd })).stdout).toContain("No changes.");
  });

  test("plan | head is no error", async () => {
    const { code, stderr } = await shell("$draftsync plan 2>/dev/null | head -1", join(folder.path, "one"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("a full disk is one, in a sentence", async () => {
    const { code, stderr } = await shell("$draftsync schema > /dev/full", folder.path);
    expect(code).toBe(1);
    expect(stderr).toContain("the output cannot be written");
    expect(stderr).not.toContain("node:internal");
  });
});

test("a folder that is gone is told in a sentence", async () => {
  const gone = await mkdtemp(join(tmpdir(), "draftsync-gone-"));
  const ended = shell(`rmdir ${gone}; $draftsync plan`, gone);
  const { code, stderr } = await ended;
  await rmdir(gone).catch(() => undefined);
  expect(code).toBe(1);
  expect(stderr).toContain("[no-folder]");
});

describe("a ledger", () => {
  test("of another workspace is neither planned with nor applied to", async () => {
    const state = join(folder.path, "state.db");
    const run = (name: string, ...args: string[]) =>
      draftsync([...args, "--state", state], { cwd: join(folder.path, name) });
    expect((await run("one", "apply", "--auto-approve")).code).toBe(0);
    for (const args of [["plan"], ["apply", "--auto-approve"]]) {
      const refused = await run("two", ...args);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("[ledger-of-another]") });
      expect(refused.stdout).toBe("");
    }
    expect((await run("one", "plan")).stdout).toContain("No changes.");
  });

  test("of another service is not planned with", async () => {
    const cwd = join(folder.path, "one");
    await draftsync(["apply", "--auto-approve"], { cwd });
    const refused = await draftsync(["plan", "--base-url", "https://api.example.com"], { cwd });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("[ledger-of-another]") });
  });
});
