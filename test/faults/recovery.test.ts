import { cp, mkdir, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { holdAnswers } from "../support/faulty-proxy.ts";
import { useWorkspace } from "../support/workspace.ts";
import { executeIn, freshSchema } from "../unit/ledger/samples.ts";
import { startPostgresProxy } from "./support/postgres-proxy.ts";

const key = "canary-key-5c1e";
const attachOne = "draft: 1\nproduct_files: [{ file_id: 1 }]\n";
const publishOne = "draft: 1\npublish: true\n";

const { sandbox, proxy, folder, options, start, holdApply } = useWorkspace({
  files: { "manifests/a.yaml": attachOne },
  service: { timeout: "10m" },
  sandbox: { key },
});
let env: Record<string, string>;

beforeEach(() => {
  env = {};
});

const run = (...args: string[]) => draftsync(args, options(env));
const apply = () => run("apply", "--auto-approve");
const inFolder = (name: string) => join(folder.path, name);

/** Recovery logs with records. */
async function recoveryLogs(): Promise<string[]> {
  const names = await readdir(inFolder(".draftsync")).catch(() => []);
  return names
    .filter((name) => /\.recovery\.ndjson(\.replaying)?$/.test(name))
    .map((name) => join(".draftsync", name));
}

/** Runs an apply and calls `fail`, which breaks the ledger, while its call is in flight. */
async function applyWhile(fail: () => Promise<unknown>, ...args: readonly string[]) {
  const holder = await holdApply(1, env, ...args);
  await fail();
  holder.answer();
  const ended = await holder.ended;
  proxy.seen.splice(0);
  return ended;
}

async function releaseLock() {
  const { lock } = JSON.parse((await run("lock", "status", "--json")).stdout);
  expect((await run("lock", "release", lock.id, "--auto-approve")).code).toBe(0);
}

/** Creates an empty ledger. */
async function makeLedger() {
  await folder.write({ "manifests/a.yaml": "draft: 1\n" });
  expect((await apply()).code).toBe(0);
  await folder.write({ "manifests/a.yaml": attachOne });
}

/** What settles the attachment of file 1, if the ledger lacked the call. */
const settling = ["PATCH /api/drafts/1/product_files/1"];

const leftInDoubt =
  "drafts/1/product_files/1  attach done: recorded in doubt, because the ledger may know something newer of the file; apply settles it\n";

async function expectNothingLeft(sent: readonly string[] = settling) {
  expect(await recoveryLogs()).toEqual([]);
  expect(await apply()).toMatchObject({ code: 0 });
  expect(proxy.seen).toEqual(sent);
}

describe("ledger removed or replaced during an apply", () => {
  test("leaves a recovery log, and every command that plans or writes refuses until it is replayed", async () => {
    const ended = await applyWhile(() => folder.remove(".draftsync"));
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("[outcome-not-recorded]") });
    const [file = "none", ...more] = await recoveryLogs();
    expect(more).toEqual([]);
    expect(ended.stderr).toContain("was removed while it was in use");
    expect(ended.stderr).toContain(`for drafts/1/product_files/1: done\n  saved in ${inFolder(file)}\n`);
    expect((await stat(inFolder(file))).mode & 0o777).toBe(0o600);
    expect(await folder.read(file)).not.toContain(key);
    const refused = [
      ["plan"],
      ["apply", "--auto-approve"],
      ["resolve", "drafts/1/product_files/1", "--not-done"],
      ["uploads", "create", "--key", "a"],
      ["products", "duplicate", "5", "--auto-approve"],
    ];
    for (const args of refused) {
      const { code, stderr, stdout } = await run(...args);
      expect({ code, stdout }, args.join(" ")).toEqual({ code: 4, stdout: "" });
      expect(stderr).toContain("[recovery-pending]");
      expect(stderr).toContain(inFolder(file));
      expect(stderr).toContain("draftsync state recover");
    }
    expect(await readdir(inFolder(".draftsync"))).toEqual(["state.db.recovery.ndjson"]);
    for (const args of [
      ["state", "list"],
      ["lock", "status"],
      ["state", "export"],
    ]) {
      const { code, stderr } = await run(...args);
      // No ledger is left to export.
      expect(code).toBe(args[1] === "export" ? 1 : 0);
      expect(stderr).toContain("note: outcomes of an earlier run have not been replayed: ");
    }
    const mismatch = await run("state", "recover");
    expect(mismatch).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[recovery-of-another-ledger]"),
    });
    expect(await recoveryLogs()).toEqual([file]);
    const replayed = await run("state", "recover", "--ignore-lineage");
    expect(replayed).toMatchObject({
      code: 0,
      stdout: leftInDoubt,
    });
    await expectNothingLeft();
  });

  test("can be imported again from an export, and the outcomes are replayed into it", async () => {
    await makeLedger();
    const { stdout: exported } = await run("state", "export");
    const ended = await applyWhile(async () => {
      await folder.remove(".draftsync");
      await folder.write({
        "exported.json": exported,
        "other.json": exported.replace(/"lineage": "\w/, '"lineage": "x'),
      });
    });
    expect(ended.code).toBe(4);
    expect(await run("state", "import", "other.json")).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("[recovery-pending]"),
    });
    expect(await run("state", "import", "exported.json")).toMatchObject({ code: 0 });
    expect((await run("plan")).code).toBe(4);
    expect(await run("state", "recover")).toMatchObject({
      code: 0,
      stdout: leftInDoubt,
    });
    await expectNothingLeft();
  });

  test("gets the outcome replayed once if it was replaced by an older copy", async () => {
    await makeLedger();
    await cp(inFolder(".draftsync/state.db"), inFolder("backup.db"));
    const ended = await applyWhile(() => rename(inFolder("backup.db"), inFolder(".draftsync/state.db")));
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("replaced by another file") });
    await folder.remove(".draftsync/state.db-wal").catch(() => {});
    await folder.remove(".draftsync/state.db-shm").catch(() => {});
    const [file = "none"] = await recoveryLogs();
    await cp(inFolder(file), inFolder("saved.ndjson"));
    const replayed = await run("state", "recover", "--json");
    expect(JSON.parse(replayed.stdout)).toMatchObject({
      format_version: 1,
      outcomes: [{ address: "drafts/1/product_files/1", outcome: "done", replay: "in_doubt" }],
    });
    // Same state as after a kill between the commit and the removal of the file.
    await cp(inFolder("saved.ndjson"), inFolder(file));
    expect((await run("plan")).code).toBe(4);
    const again = await run("state", "recover");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("already recorded") });
    await expectNothingLeft();
    const { operations } = JSON.parse((await run("state", "export")).stdout);
    expect(operations).toMatchObject([{ outcome: "unknown" }, { method: "PATCH", outcome: "done" }]);
  });
});

describe("lock lost during an apply", () => {
  test("to state rebind lets the outcomes be replayed at the new address", async () => {
    await folder.write({ "manifests/a.yaml": "draft: 2\npromotional_files: [{ file_id: 9 }]\n" });
    expect(await apply()).toMatchObject({ code: 0 });
    await folder.write({ "manifests/b.yaml": attachOne });
    const [, url = ""] = /base_url: (\S+)/.exec(await folder.read("draftsync.yaml")) ?? [];
    const moved = ["--base-url", url.replace("127.0.0.1", "localhost")];
    const ended = await applyWhile(releaseLock);
    expect(await run("state", "recover", ...moved)).toMatchObject({ code: 1 });
    expect(await run("state", "rebind", ...moved, "--auto-approve")).toMatchObject({ code: 0 });
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("[outcome-not-recorded]") });
    expect(await recoveryLogs()).toHaveLength(1);
    expect(await run("state", "recover", ...moved)).toMatchObject({
      code: 0,
      stdout: leftInDoubt,
    });
    expect(await recoveryLogs()).toEqual([]);
    expect(await run("plan", ...moved)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("1 in doubt"),
    });
  });

  test("leaves the log of a ledger at a different service to that ledger, and names it", async () => {
    await applyWhile(releaseLock);
    const [file = "none"] = await recoveryLogs();
    const other = ".draftsync/staging.db.recovery.ndjson";
    const record = JSON.parse(await folder.read(file));
    const owner = { ...record.owner, origin: "https://staging.example.com" };
    await folder.write({ [other]: `${JSON.stringify({ ...record, owner, lineage: "staging" })}\n` });
    expect(await run("state", "recover")).toMatchObject({ code: 0, stdout: leftInDoubt });
    expect(await recoveryLogs()).toEqual([other]);
    expect(await run("plan")).toMatchObject({ code: 4, stderr: expect.stringContaining(inFolder(other)) });
    const { code, stderr } = await run("state", "recover");
    expect(code).toBe(1);
    expect(stderr).toContain(`the outcomes in ${inFolder(other)} belong to workspace w at https://staging`);
    expect(stderr).toContain("[recovery-of-another]");
    await folder.remove(other);
    await expectNothingLeft();
  });

  test("is replayed by --ignore-lineage one at a time: that which the refusal names", async () => {
    await applyWhile(releaseLock);
    const [file = "none"] = await recoveryLogs();
    const lost = JSON.stringify({ ...JSON.parse(await folder.read(file)), lineage: "lost" });
    const [first, second] = [".draftsync/a.db.recovery.ndjson", ".draftsync/b.db.recovery.ndjson"];
    await folder.remove(file);
    await folder.write({ [first]: `${lost}\n`, [second]: `${lost}\n` });
    expect((await run("state", "recover")).stderr).toContain(`the outcomes in ${inFolder(first)} belong`);
    expect(await run("state", "recover", "--ignore-lineage")).toMatchObject({ code: 0 });
    expect(await recoveryLogs()).toEqual([second]);
  });

  test("is replayed into a ledger that an older version wrote", async () => {
    await applyWhile(releaseLock);
    const older =
      "drop index operations_lost; drop table kept_values; alter table attachments drop column former_address; delete from schema_migrations where version >= 3";
    await executeIn(inFolder(".draftsync/state.db"), older);
    expect(await run("plan")).toMatchObject({ code: 4 });
    expect(await run("state", "recover")).toMatchObject({ code: 0, stdout: leftInDoubt });
    await expectNothingLeft();
  });

  test("saves the outcome before a kill while other calls are in flight", async () => {
    await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 2 }]\n" });
    const first = holdAnswers();
    proxy.choose = ({ path }) => (path.includes("/1/") ? first.held : { type: "answer-held" });
    const running = start(["apply", "--auto-approve"], env);
    await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBe(2);
    await releaseLock();
    first.answer();
    await expect.poll(recoveryLogs, { timeout: 60_000 }).toHaveLength(1);
    running.kill("SIGKILL");
    await running.ended;
    expect(await run("state", "recover")).toMatchObject({
      code: 0,
      stdout: leftInDoubt,
    });
    const { entries } = JSON.parse((await run("state", "list", "--json")).stdout);
    expect(entries).toMatchObject([
      { address: "drafts/1/product_files/1", type: "operation" },
      { address: "drafts/2/product_files/2", type: "operation" },
    ]);
  });

  test("saves the product id, which is recorded nowhere else", async () => {
    await folder.write({ "manifests/a.yaml": publishOne });
    expect((await applyWhile(releaseLock)).code).toBe(4);
    const [product] = sandbox.state().products;
    expect(await run("state", "recover")).toMatchObject({
      code: 0,
      stdout: `drafts/1/product  publish done, product ${product?.id}: recorded\n`,
    });
    expect((await run("state", "show", "drafts/1/product")).stdout).toContain(String(product?.id));
    await expectNothingLeft([]);
  });

  test.each([
    { choice: "use-recovered", message: "recorded", plan: "No changes.", named: [] },
    { choice: "use-recovered", message: "recorded", plan: "No changes.", named: ["elsewhere.ndjson"] },
    {
      choice: "keep-ledger",
      message: "dropped, because the ledger was kept",
      plan: "1 to publish",
      named: [],
    },
  ])(
    "and a different resolution by an operator conflict until --on-conflict $choice decides (FILE: $named)",
    async ({ choice, message, plan, named }) => {
      await folder.write({ "manifests/a.yaml": publishOne });
      await applyWhile(releaseLock);
      const [file = "none"] = await recoveryLogs();
      // Same state as another machine with the same ledger, which has no such file.
      await rename(inFolder(file), inFolder("elsewhere.ndjson"));
      expect((await run("resolve", "drafts/1/product", "--not-done")).code).toBe(0);
      if (named.length === 0) await rename(inFolder("elsewhere.ndjson"), inFolder(file));
      const before = (await run("state", "list", "--json")).stdout;
      const conflict = await run("state", "recover", ...named);
      expect(conflict.code).toBe(4);
      expect(conflict.stdout).toContain("contradicts the ledger: it was settled as not_sent");
      expect(conflict.stderr).toContain("--on-conflict");
      expect((await run("state", "list", "--json")).stdout).toBe(before);
      expect(await recoveryLogs()).toEqual([file]);
      expect(await run("state", "recover", "--on-conflict", choice)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(message),
      });
      expect(await recoveryLogs()).toEqual([]);
      expect((await run("plan")).stdout).toContain(plan);
    },
  );
});

test.each([
  { format: "text", line: '{"format_version"' },
  { format: "json", line: '{"time"' },
])(
  "an outcome is printed as $format if the recovery log cannot be written, and can be replayed from there",
  async ({ format, line: start }) => {
    const breakBoth = async () => {
      await releaseLock();
      await mkdir(inFolder(".draftsync/state.db.recovery.ndjson"));
    };
    const ended = await applyWhile(breakBoth, "--log-format", format);
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("The recovery log could not be written");
    expect(ended.stderr).toContain("draftsync state recover FILE");
    const lines = ended.stderr
      .split("\n")
      .filter((line) => line.startsWith(start) && line.includes('"lineage"'));
    expect(lines).toHaveLength(1);
    await folder.remove(".draftsync/state.db.recovery.ndjson");
    const replayed = await draftsync(["state", "recover", "-"], { ...options(env), input: lines.join("\n") });
    expect(replayed).toMatchObject({ code: 0, stdout: leftInDoubt });
    await expectNothingLeft();
  },
);

test("an interrupt that ends the process while the ledger hangs leaves a recovery log", async () => {
  const holder = await holdApply(1, env);
  const { default: Database } = await import("libsql");
  const database = new Database(inFolder(".draftsync/state.db"));
  database.exec("begin immediate");
  holder.answer();
  holder.kill("SIGINT");
  await expect.poll(holder.stderr, { timeout: 60_000 }).toContain("Waiting up to 5 s");
  holder.kill("SIGINT");
  await expect.poll(holder.stderr, { timeout: 60_000 }).toContain("Aborting requests in flight.");
  holder.kill("SIGINT");
  const log = inFolder(".draftsync/state.db.recovery.ndjson");
  expect(await holder.ended).toMatchObject({
    code: 130,
    stderr: expect.stringMatching(`saved in ${log} .*\\n.*run \`draftsync state recover\``),
  });
  database.exec("rollback");
  database.close();
  proxy.seen.splice(0);
  expect(await recoveryLogs()).toHaveLength(1);
  // Another container cannot check the process that left the lock.
  await executeIn(
    inFolder(".draftsync/state.db"),
    `update leases set holder = replace(holder, '"boot":"', '"boot":"another ')`,
  );
  expect(await run("lock", "status")).toMatchObject({ stdout: expect.stringContaining("its lease ends in") });
  expect((await run("state", "recover")).stdout).toBe(leftInDoubt);
  await expectNothingLeft();
});

test.each(["refuse", "hang"] as const)(
  "a PostgreSQL server that fails during an apply (%s) and stays away leaves a local recovery log",
  async (fault) => {
    const server = await startPostgresProxy();
    env.DRAFTSYNC_STATE = server.through(freshSchema());
    const ended = await applyWhile(async () => {
      server.choose = () => fault;
    });
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("[outcome-not-recorded]") });
    expect(ended.stderr).toContain("the database of the ledger does not answer");
    expect(ended.stderr.match(/The ledger postgres:/g)).toHaveLength(1);
    expect(ended.stderr).toContain("The lock is not released yet. Once this process has ended");
    expect(await recoveryLogs()).toHaveLength(1);
    server.choose = () => "pass";
    expect((await run("plan")).code).toBe(4);
    expect(await run("state", "recover")).toMatchObject({
      code: 0,
      stdout: leftInDoubt,
    });
    await expectNothingLeft();
  },
);
