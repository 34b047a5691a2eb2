import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { draftsync, makeFolder, startShell } from "../support/cli.ts";
import { holdAnswers, startFaultyProxy } from "../support/faulty-proxy.ts";

test("a current folder that was removed is an error", async () => {
  const gone = await mkdtemp(join(tmpdir(), "draftsync-gone-"));
  const { code, stderr } = await startShell(`rmdir ${gone}; $draftsync plan`, { cwd: gone }).ended;
  await rmdir(gone).catch(() => undefined);
  expect(code).toBe(1);
  expect(stderr).toContain("[no-folder]");
});

test("plan and apply refuse the ledger of a different workspace", async () => {
  const config = (name: string) => `version: 1\nworkspace: ${name}\nservice: sandbox\n`;
  const folder = await makeFolder({
    "one/draftsync.yaml": config("one"),
    "one/manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n",
    "two/draftsync.yaml": config("two"),
    "two/manifests/a.yaml": "draft: 2\nproduct_files: [{ file_id: 1 }]\n",
  });
  onTestFinished(() => folder.dispose());
  const run = (name: string, ...args: string[]) =>
    draftsync([...args, "--state", join(folder.path, "state.db")], { cwd: join(folder.path, name) });
  expect((await run("one", "apply", "--auto-approve")).code).toBe(0);
  for (const args of [["plan"], ["apply", "--auto-approve"]]) {
    const refused = await run("two", ...args);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("[ledger-owner-mismatch]") });
    expect(refused.stdout).toBe("");
  }
  expect((await run("one", "plan")).stdout).toContain("No changes.");
});

test("too few file descriptors for the connections are not reported as a problem of the network", async () => {
  const key = "canary-key-1c7e";
  const sandbox = await startSandbox({ key });
  const proxy = await startFaultyProxy(sandbox.url);
  proxy.choose = () => holdAnswers().held;
  const files = Array.from({ length: 100 }, (_none, at) => `{ file_id: ${at + 1} }`);
  const folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: w
service: { base_url: ${proxy.url}, concurrency: 100, rate: { limit: 1000, window: 1s }, timeout: 3s }
`,
    "manifests/a.yaml": `draft: 1\nproduct_files: [${files.join(", ")}]\n`,
  });
  onTestFinished(async () => {
    await proxy.close();
    await sandbox.close();
    await folder.dispose();
  });
  const run = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
  const { stderr } = await startShell("ulimit -n 60; $draftsync apply --auto-approve", run).ended;
  expect(stderr).toContain("[too-many-open-files]");
  expect(stderr).toContain("ulimit -n 4096");
  expect(stderr).not.toContain("this machine's network");
});
