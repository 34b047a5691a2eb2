import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { draftsync, type Folder, makeFolder } from "../support/cli.ts";

const schema = `test_${randomBytes(8).toString("hex")}`;
const database = new URL(inject("databaseUrl"));
database.searchParams.set("schema", schema);
const inPostgres = { DRAFTSYNC_STATE: database.href };
let folder: Folder;

beforeAll(async () => {
  folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": "draft: 7\nproduct_files:\n  - file_id: 10\n    file_format: fbx\npublish: true\n",
  });
});

afterAll(async () => {
  await folder.dispose();
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  await client.query(`drop schema if exists ${schema} cascade`);
  await client.end();
});

test("a workspace moves from SQLite to PostgreSQL, is used there, and moves back", async () => {
  const { path: cwd } = folder;
  const outputs: string[] = [];
  const run = async (args: string[], env: Record<string, string> = {}, input?: string) => {
    const ended = await draftsync(args, { cwd, env, ...(input === undefined ? {} : { input }) });
    outputs.push(ended.stdout, ended.stderr);
    return ended;
  };
  expect(await run(["apply", "--auto-approve"])).toMatchObject({ code: 0 });
  const { stdout: exported } = await run(["state", "export"]);
  expect(await run(["state", "import", "-"], inPostgres, exported)).toMatchObject({ code: 0, stdout: "" });
  expect((await run(["state", "export"], inPostgres)).stdout).toBe(exported);
  expect((await run(["plan"], inPostgres)).stdout).toContain("No changes.");

  await folder.write({
    "manifests/b.yaml": "draft: 8\nproduct_files:\n  - file_id: 11\n    file_format: obj\n",
  });
  expect(await run(["apply", "--auto-approve"], inPostgres)).toMatchObject({ code: 0 });
  expect((await run(["state", "list"], inPostgres)).stdout).toContain("drafts/8/product_files/11");

  const { stdout: moved } = await run(["state", "export"], inPostgres);
  await folder.write({ "moved.json": moved });
  const back = ["state", "import", "moved.json", "--state", "back.db"];
  expect(await run(back)).toMatchObject({ code: 0, stderr: expect.stringContaining("2 attachments") });
  expect((await run(["state", "export", "--state", "back.db"])).stdout).toBe(moved);
  expect(await run(back)).toMatchObject({ code: 1, stderr: expect.stringContaining("[ledger-not-empty]") });
  expect(outputs.join("\n")).not.toContain(database.password);
});

test.each([
  { name: "a wrong password", part: "password", value: "wr0ng-word", code: "ledger-access-denied" },
  { name: "nothing that listens", part: "port", value: "1", code: "ledger-unreachable" },
] as const)(
  "$name is an error with a code and does not print the password",
  async ({ part, value, code }) => {
    const url = new URL(database);
    url[part] = value;
    const ended = await draftsync(["plan"], { cwd: folder.path, env: { DRAFTSYNC_STATE: url.href } });
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(`[${code}]`) });
    expect(ended.stderr).not.toContain(url.password);
  },
);

test("state import checks its input before it opens the ledger", async () => {
  const args = ["state", "import", "-", "--state", "never.db"];
  const ended = await draftsync(args, { cwd: folder.path, input: '{"format_version":9}' });
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("format version 9") });
  await expect(folder.read("never.db")).rejects.toThrow();
});
