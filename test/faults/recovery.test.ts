import { cp, readdir, rename, stat } from "node:fs/promises";
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
const keptIn = ".draftsync/recovery";

async function recoveryFiles(place = keptIn): Promise<string[]> {
  const names = await readdir(inFolder(place)).catch(() => []);
  return names.filter((name) => name.endsWith(".json")).map((name) => join(place, name));
}

/** An apply whose ledger fails by `fail` while its call is on its way. */
async function applyWhile(fail: () => Promise<unknown>) {
  const holder = await holdApply(1, env);
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

/** A ledger that holds nothing. */
async function makeLedger() {
  await folder.write({ "manifests/a.yaml": "draft: 1\n" });
  expect((await apply()).code).toBe(0);
  await folder.write({ "manifests/a.yaml": attachOne });
}

async function expectNothingLeft() {
  expect(await recoveryFiles()).toEqual([]);
  expect(await apply()).toMatchObject({ code: 0 });
  expect(proxy.seen).toEqual([]);
}

describe("a ledger that is gone in the middle of an apply", () => {
  test("leaves a recovery file, and every command that plans or writes refuses until it is taken in", async () => {
    const ended = await applyWhile(() => folder.remove(".draftsync"));
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("[outcome-not-recorded]") });
    const [file = "none", ...more] = await recoveryFiles();
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
    expect(await readdir(inFolder(".draftsync"))).toEqual(["recovery"]);
    for (const args of [
      ["state", "list"],
      ["lock", "status"],
      ["state", "export"],
    ]) {
      const { code, stderr } = await run(...args);
      // There is no ledger to be exported any more.
      expect(code).toBe(args[1] === "export" ? 1 : 0);
      expect(stderr).toContain("note: a recovery file has not been replayed: ");
    }
    const another = await run("state", "recover");
    expect(another).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[recovery-of-another-ledger]"),
    });
    expect(await recoveryFiles()).toEqual([file]);
    const taken = await run("state", "recover", "--other-ledger");
    expect(taken).toMatchObject({ code: 0, stdout: "drafts/1/product_files/1  attach done: recorded\n" });
    await expectNothingLeft();
  });

  test("and its export imported again: what was kept of it is taken in after that", async () => {
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
      stdout: expect.stringContaining("recorded"),
    });
    await expectNothingLeft();
  });

  test("an older copy put in its place does not know the call; it is taken in all the same, once", async () => {
    await makeLedger();
    await cp(inFolder(".draftsync/state.db"), inFolder("backup.db"));
    const ended = await applyWhile(() => rename(inFolder("backup.db"), inFolder(".draftsync/state.db")));
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("replaced by another file") });
    await folder.remove(".draftsync/state.db-wal").catch(() => {});
    await folder.remove(".draftsync/state.db-shm").catch(() => {});
    const [file = "none"] = await recoveryFiles();
    await cp(inFolder(file), inFolder("kept.json"));
    const taken = await run("state", "recover", "--json");
    expect(JSON.parse(taken.stdout)).toMatchObject({
      format_version: 1,
      outcomes: [{ address: "drafts/1/product_files/1", outcome: "done", taken_in: "recorded" }],
    });
    // As after a kill between the commit and the removal of the file.
    await cp(inFolder("kept.json"), inFolder(file));
    expect((await run("plan")).code).toBe(4);
    const again = await run("state", "recover");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("already recorded") });
    await expectNothingLeft();
    const { operations } = JSON.parse((await run("state", "export")).stdout);
    expect(operations).toMatchObject([{ address: "drafts/1/product_files/1", outcome: "done" }]);
  });
});

describe("a lock that is lost", () => {
  test("leaves the outcome in a file at once, while other calls are still on their way, and a kill does not matter", async () => {
    await folder.write({ "manifests/b.yaml": "draft: 2\nproduct_files: [{ file_id: 2 }]\n" });
    const first = holdAnswers();
    proxy.choose = ({ path }) => (path.includes("/1/") ? first.held : { type: "answer-held" });
    const running = start(["apply", "--auto-approve"], env);
    await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBe(2);
    await releaseLock();
    first.answer();
    await expect.poll(recoveryFiles, { timeout: 60_000 }).toHaveLength(1);
    running.kill("SIGKILL");
    await running.ended;
    expect(await run("state", "recover")).toMatchObject({
      code: 0,
      stdout: "drafts/1/product_files/1  attach done: recorded\n",
    });
    const { entries } = JSON.parse((await run("state", "list", "--json")).stdout);
    expect(entries).toMatchObject([
      { address: "drafts/1/product_files/1", type: "attachment" },
      { address: "drafts/2/product_files/2", type: "operation" },
    ]);
  });

  test("keeps the product that nothing else would tell", async () => {
    await folder.write({ "manifests/a.yaml": publishOne });
    expect((await applyWhile(releaseLock)).code).toBe(4);
    const [product] = sandbox.state().products;
    expect(await run("state", "recover")).toMatchObject({
      code: 0,
      stdout: `drafts/1/product  publish done, product ${product?.id}: recorded\n`,
    });
    expect((await run("state", "show", "drafts/1/product")).stdout).toContain(String(product?.id));
    await expectNothingLeft();
  });

  test.each([
    { prefer: "outcome", says: "recorded", plan: "No changes." },
    { prefer: "ledger", says: "dropped, because the ledger was preferred", plan: "1 to publish" },
  ])(
    "and a person who settled it otherwise meanwhile: neither wins until --prefer $prefer says so",
    async ({ prefer, says, plan }) => {
      await folder.write({ "manifests/a.yaml": publishOne });
      await applyWhile(releaseLock);
      const [file = "none"] = await recoveryFiles();
      // As on another machine with the same ledger, which has no such file.
      await rename(inFolder(file), inFolder("elsewhere.json"));
      expect((await run("resolve", "drafts/1/product", "--not-done")).code).toBe(0);
      await rename(inFolder("elsewhere.json"), inFolder(file));
      const before = (await run("state", "list", "--json")).stdout;
      const torn = await run("state", "recover");
      expect(torn.code).toBe(4);
      expect(torn.stdout).toContain("contradicts the ledger: it was settled as not_sent");
      expect(torn.stderr).toContain("--prefer");
      expect((await run("state", "list", "--json")).stdout).toBe(before);
      expect(await recoveryFiles()).toEqual([file]);
      expect(await run("state", "recover", "--prefer", prefer)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(says),
      });
      expect(await recoveryFiles()).toEqual([]);
      expect((await run("plan")).stdout).toContain(plan);
    },
  );
});

describe("where no file can be written", () => {
  test("the next folder takes it", async () => {
    const ended = await applyWhile(async () => {
      await folder.remove(".draftsync");
      await folder.write({ ".draftsync": "not a folder" });
    });
    const [file = "none"] = await recoveryFiles("draftsync-recovery");
    expect(ended.stderr).toContain(inFolder(file));
    await folder.remove(".draftsync");
    expect(await run("plan")).toMatchObject({ code: 4, stderr: expect.stringContaining(inFolder(file)) });
    expect((await run("state", "recover", "--other-ledger")).code).toBe(0);
    expect(await recoveryFiles("draftsync-recovery")).toEqual([]);
  });

  test("it is printed, and taken in from there", async () => {
    env.TMPDIR = inFolder("draftsync.yaml");
    await folder.write({ "draftsync-recovery": "not a folder" });
    const ended = await applyWhile(async () => {
      await releaseLock();
      await folder.remove(keptIn);
      await folder.write({ [keptIn]: "not a folder" });
    });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("draftsync state recover FILE");
    const lines = ended.stderr.split("\n").filter((line) => line.startsWith('{"format_version"'));
    expect(lines).toHaveLength(1);
    const taken = await draftsync(["state", "recover", "-"], { ...options(env), input: lines.join("\n") });
    expect(taken).toMatchObject({ code: 0, stdout: "drafts/1/product_files/1  attach done: recorded\n" });
    await expectNothingLeft();
  });
});

test("an interrupt that ends the process while the ledger hangs leaves a recovery file", async () => {
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
  expect((await holder.ended).code).toBe(130);
  database.exec("rollback");
  database.close();
  proxy.seen.splice(0);
  expect(await recoveryFiles()).toHaveLength(1);
  // As another container sees the lock, which cannot judge the process that left it.
  await executeIn(
    inFolder(".draftsync/state.db"),
    `update leases set holder = replace(holder, '"boot":"', '"boot":"another ')`,
  );
  expect(await run("lock", "status")).toMatchObject({ stdout: expect.stringContaining("its lease ends in") });
  expect((await run("state", "recover")).stdout).toBe("drafts/1/product_files/1  attach done: recorded\n");
  await expectNothingLeft();
});

test.each(["refuse", "hang"] as const)(
  "a PostgreSQL server that does not come back in the middle of an apply (%s) leaves a recovery file here",
  async (fault) => {
    const server = await startPostgresProxy();
    env.DRAFTSYNC_STATE = server.through(freshSchema());
    const ended = await applyWhile(async () => {
      server.choose = () => fault;
    });
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("[outcome-not-recorded]") });
    expect(ended.stderr).toContain("the database of the ledger does not answer");
    expect(await recoveryFiles()).toHaveLength(1);
    server.choose = () => "pass";
    expect((await run("plan")).code).toBe(4);
    expect(await run("state", "recover")).toMatchObject({
      code: 0,
      stdout: "drafts/1/product_files/1  attach done: recorded\n",
    });
    await expectNothingLeft();
  },
);
