import { chmod, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { NOBODY, skipNoteUnreachable } from "../support/unprivileged.ts";
import { useWorkspace } from "../support/workspace.ts";
import { freshRole, freshSchema } from "../unit/ledger/samples.ts";

/** Root ignores permissions, so root runs the commands as another user. */
const reader = process.getuid?.() === 0 ? NOBODY : undefined;
const note = skipNoteUnreachable();

const { sandbox, folder, arrivals, options } = useWorkspace({
  files: { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" },
});

afterEach(() => chmod(folder.path, 0o700));

const run = (args: readonly string[], env = {}, uid?: number) => draftsync(args, { ...options(env), uid });

const readingCommands = [
  ["plan", "--detailed-exitcode"],
  ["state", "list"],
  ["state", "list", "--json"],
  ["lock", "status"],
];

test.skipIf(note !== "")(`a folder of manifests that cannot be read is one error${note}`, async () => {
  const closed = `${folder.path}/manifests`;
  await chmod(folder.path, 0o755);
  for (const mode of [0o000, 0o111]) {
    await chmod(closed, mode);
    const { code, stderr } = await run(["validate"], {}, reader);
    await chmod(closed, 0o755);
    expect(code).toBe(1);
    expect(stderr.match(/^error: /gm)).toHaveLength(1);
    expect(stderr).toContain("[manifest-unreadable]");
  }
});

describe("workspace without a ledger", () => {
  test("gets no ledger from commands that only read", async () => {
    for (const args of readingCommands) {
      const { code, stderr } = await run(args);
      expect(stderr).toMatch(/^note: there is no ledger at .*state\.db yet\n/);
      expect(code).toBe(args[0] === "plan" ? 2 : 0);
    }
    const exported = await run(["state", "export"]);
    expect([exported.code, exported.stdout]).toEqual([1, ""]);
    expect(exported.stderr).toContain("[ledger-missing]");
    expect((await run(["lock", "release", "some-id", "--auto-approve"])).code).toBe(1);
    expect((await readdir(folder.path)).sort()).toEqual(["draftsync.yaml", "manifests"]);
  });

  test("applies a saved plan once", async () => {
    await run(["plan", "--out", "plan.json"]);
    expect(JSON.parse(await folder.read("plan.json")).base).toMatchObject({ lineage: "", serial: 0 });
    const applied = await run(["apply", "plan.json", "--auto-approve"]);
    expect(applied.stderr).toMatch(/^Created a new ledger at .*state\.db\n/);
    expect(applied.code).toBe(0);
    const again = await run(["apply", "plan.json", "--auto-approve"]);
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining("Nothing to do") });
    expect(sandbox.state().attachments).toHaveLength(1);
  });
});

/** Reading commands work, and writing commands are refused before any call. */
async function expectReadOnly(env: Record<string, string>, uid?: number): Promise<void> {
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }, { file_id: 2 }]\n" });
  arrivals.length = 0;
  const plan = await run(["plan"], env, uid);
  expect(plan.stderr).toBe("");
  expect(plan.stdout).toContain("1 to create");
  const listed = await run(["state", "list"], env, uid);
  expect(listed.stdout).toContain("drafts/1/product_files/1");
  expect((await run(["state", "show", "drafts/1/product_files/1"], env, uid)).code).toBe(0);
  expect((await run(["state", "export"], env, uid)).code).toBe(0);
  expect((await run(["lock", "status"], env, uid)).stdout).toBe("Not locked.\n");
  for (const args of [
    ["apply", "--auto-approve"],
    ["products", "duplicate", "771200", "--auto-approve"],
    ["resolve", "drafts/1/product", "--not-done"],
  ]) {
    const { code, stderr } = await run(args, env, uid);
    expect(stderr).toContain("[ledger-read-only]");
    expect(code).toBe(1);
  }
  expect(arrivals).toEqual([]);
}

test.skipIf(note !== "")(
  `every reading command works with a SQLite ledger that cannot be written${note}`,
  async () => {
    expect((await run(["apply", "--auto-approve"])).code).toBe(0);
    const state = join(folder.path, ".draftsync");
    await chmod(folder.path, 0o755);
    await chmod(join(state, "state.db"), 0o444);
    const before = await readdir(state);
    await chmod(state, 0o555);
    await expectReadOnly({}, reader);
    // Files that the reader creates next to the ledger would block users who may write it.
    await chmod(state, 0o777);
    expect((await run(["state", "list"], {}, reader)).stdout).toContain("drafts/1/product_files/1");
    expect(await readdir(state)).toEqual(before);
  },
);

test.skipIf(note !== "")(
  `a ledger in a folder without permission is an error that names it${note}`,
  async () => {
    await chmod(folder.path, 0o755);
    await folder.write({ ".draftsync/state.db": "" });
    await chmod(join(folder.path, ".draftsync"), 0o700);
    for (const args of [["plan"], ["apply", "--auto-approve"], ["state", "recover"]]) {
      const { code, stderr } = await run(args, {}, reader);
      expect(stderr).toMatch(/\.draftsync cannot be read: EACCES.*\[recovery-unreadable\]/s);
      expect(code).toBe(1);
    }
  },
);

test("every reading command works with a PostgreSQL ledger that can only be selected from", async () => {
  const location = freshSchema();
  expect((await run(["apply", "--auto-approve"], { DRAFTSYNC_STATE: location })).code).toBe(0);
  const asReader = await freshRole(
    (role, schema) =>
      `grant usage on schema ${schema} to ${role}; grant select on all tables in schema ${schema} to ${role}`,
    location,
  );
  await expectReadOnly({ DRAFTSYNC_STATE: asReader });
});
