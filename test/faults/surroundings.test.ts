import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder, startShell } from "../support/cli.ts";

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

test("a current folder that was removed is an error", async () => {
  const gone = await mkdtemp(join(tmpdir(), "draftsync-gone-"));
  const { code, stderr } = await startShell(`rmdir ${gone}; $draftsync plan`, { cwd: gone }).ended;
  await rmdir(gone).catch(() => undefined);
  expect(code).toBe(1);
  expect(stderr).toContain("[no-folder]");
});

describe("ledger of another workspace", () => {
  test("is refused by plan and apply", async () => {
    const state = join(folder.path, "state.db");
    const run = (name: string, ...args: string[]) =>
      draftsync([...args, "--state", state], { cwd: join(folder.path, name) });
    expect((await run("one", "apply", "--auto-approve")).code).toBe(0);
    for (const args of [["plan"], ["apply", "--auto-approve"]]) {
      const refused = await run("two", ...args);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("[ledger-owner-mismatch]") });
      expect(refused.stdout).toBe("");
    }
    expect((await run("one", "plan")).stdout).toContain("No changes.");
  });
});
