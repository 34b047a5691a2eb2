import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { draftsync, makeFolder, startShell } from "../support/cli.ts";

test("a current folder that was removed is an error", async () => {
  const gone = await mkdtemp(join(tmpdir(), "draftsync-gone-"));
  const { code, stderr } = await startShell(`rmdir ${gone}; $draftsync plan`, { cwd: gone }).ended;
  await rmdir(gone).catch(() => undefined);
  expect(code).toBe(1);
  expect(stderr).toContain("[no-folder]");
});

test("plan and apply refuse the ledger of another workspace", async () => {
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
