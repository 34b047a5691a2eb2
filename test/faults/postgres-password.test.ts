import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { freshRole, freshSchema, rolePassword } from "../unit/ledger/samples.ts";

let folder: Folder;
let location: string;
let line: string;

beforeEach(async () => {
  const withPassword = new URL(
    await freshRole((role, schema) => `create schema ${schema} authorization ${role}`, freshSchema()),
  );
  const { hostname, port, pathname, username } = withPassword;
  line = `${hostname}:${port}:${pathname.slice(1)}:${username}:`;
  withPassword.password = "";
  location = withPassword.href;
  folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n",
  });
});

afterEach(() => folder.dispose());

/** Runs with the test folder as HOME. */
const run = (env: Record<string, string> = {}) =>
  draftsync(["state", "list"], { cwd: folder.path, env: { DRAFTSYNC_STATE: location, ...env } });

async function writeLine(name: string, password: string, mode = 0o600): Promise<void> {
  await folder.write({ [name]: `${line}${password}\n` });
  await chmod(join(folder.path, name), mode);
}

const nothing = /^note: there is no ledger at postgres:.* yet\n\nThe ledger has no resources\.\n$/;

test.each([
  ["~/.pgpass", ".pgpass", {}],
  ["the file that PGPASSFILE names", "team.pgpass", { PGPASSFILE: "team.pgpass" }],
])("the password is read from %s without a message", async (_, name, env) => {
  await writeLine(name, rolePassword);
  const { code, stderr } = await run(env);
  expect(stderr).toMatch(nothing);
  expect(code).toBe(0);
});

test("PGPASSWORD overrides the file", async () => {
  await writeLine(".pgpass", "wrong");
  expect((await run({ PGPASSWORD: rolePassword })).stderr).toMatch(nothing);
  const { code, stderr } = await run();
  expect(stderr).toContain("[ledger-access-denied]");
  expect(stderr).not.toContain("wrong");
  expect(code).toBe(1);
});

test("a password file that other users can read is refused with its mode", async () => {
  await writeLine(".pgpass", rolePassword, 0o644);
  const { code, stderr } = await run();
  expect(stderr).toContain("may be read by others");
  expect(stderr).toContain("chmod 0600");
  expect(stderr).not.toContain(rolePassword);
  expect(code).toBe(1);
});

test("a missing password is an error that names where it can be set", async () => {
  const { code, stderr } = await run();
  expect(stderr).toContain("PGPASSFILE");
  expect(code).toBe(1);
});
