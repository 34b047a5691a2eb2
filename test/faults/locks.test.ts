import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";
import { lockRequest, onMachine, passing } from "../unit/ledger/ledger-lock-suite.ts";
import { lockPlace } from "../unit/ledger/samples.ts";

const jobUrl = "https://ci.example/shop/-/jobs/17";

const { sandbox, proxy, folder, run, apply, start, holdApply } = useWorkspace({
  files: {
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\npublish: true\n",
    "a.glb": "content",
  },
  service: { timeout: "10m" },
});

/** An apply that has sent its first call and waits for the response. */
const startHolder = () => holdApply(1, { CI_JOB_URL: jobUrl });

async function lockStatus() {
  const { stdout } = await run("lock", "status", "--json");
  return JSON.parse(stdout);
}

/** Takes over the lock as another machine after the lease has ended. */
async function takeOverElsewhere(): Promise<void> {
  const { open, execute } = lockPlace(join(folder.path, ".draftsync/state.db"));
  await execute(passing.all(3_600_000));
  const lease = await (await open(onMachine("another"))).acquireLock(lockRequest("bob"));
  expect(lease.tookOver?.holder?.url).toBe(jobUrl);
  await lease.release();
}

describe("two commands at the same time", () => {
  test("let one write; the other exits with 6 and names the holder", async () => {
    const holder = await startHolder();
    const refused = await apply();
    expect(refused.code).toBe(6);
    expect(refused.stdout).toBe("");
    const { lock } = await lockStatus();
    expect(lock).toMatchObject({
      command: "apply",
      host: hostname(),
      url: jobUrl,
      token: 1,
      state: "running",
    });
    expect(refused.stderr).toContain("[lock-held]");
    expect(refused.stderr).toContain(`${lock.user} on ${hostname()} (process ${lock.pid}, apply), held for`);
    expect(refused.stderr).toContain(
      `See ${jobUrl} , or wait for it with --lock-timeout 10m (its process is running)`,
    );
    expect(refused.stderr).toContain(`draftsync lock release ${lock.id}`);
    expect((await run("lock", "status")).stdout).toContain(lock.id);
    const others = [
      ["uploads", "create", "a.glb"],
      ["products", "duplicate", "5", "--auto-approve"],
    ];
    for (const args of others) expect((await run(...args)).code).toBe(6);
    const readers = [["plan"], ["validate"], ["state", "list"], ["state", "export"]];
    for (const args of readers) expect((await run(...args)).code).toBe(0);
    holder.answer();
    expect((await holder.ended).code).toBe(0);
    expect(proxy.seen).toEqual(["POST /api/drafts/1/product_files", "POST /api/products"]);
    expect(await lockStatus()).toEqual({ format_version: 1, lock: null });
    expect((await run("lock", "status")).stdout).toBe("Not locked.\n");
    expect((await apply()).code).toBe(0);
  });

  test("lock a saved plan too, and a command that fails releases the lock", async () => {
    await run("plan", "--out", "plan.json");
    const holder = await startHolder();
    const refused = await apply("plan.json");
    expect(refused).toMatchObject({ code: 6, stderr: expect.stringContaining("[lock-held]") });
    holder.answer();
    await holder.ended;
    const stale = await apply("plan.json");
    expect(stale).toMatchObject({ code: 6, stderr: expect.stringContaining("[plan-stale]") });
    await folder.write({ "manifests/a.yaml": "draft: one\n" });
    expect((await apply()).code).toBe(1);
    expect((await run("lock", "status")).stdout).toBe("Not locked.\n");
  });
});

describe("lock release", () => {
  test("requires the lock id, and approval if there is no terminal", async () => {
    expect(await run("lock", "release", "none", "--auto-approve")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[lock-not-held]"),
    });
    await startHolder();
    const { lock } = await lockStatus();
    expect(await run("lock", "release", "none", "--auto-approve")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(lock.id),
    });
    const unasked = await run("lock", "release", lock.id);
    expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining("[approval-needed]") });
    expect((await lockStatus()).lock.id).toBe(lock.id);
  });

  test("during an apply leaves the call in doubt, and the holder names what it could not record", async () => {
    const holder = await startHolder();
    const { lock } = await lockStatus();
    expect(await run("lock", "release", lock.id, "--auto-approve")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("A call that it sent may be in flight, so the lock is free in 10 min"),
    });
    // The call may still take effect after a command has settled it.
    for (const args of [
      ["apply", "--auto-approve"],
      ["resolve", "drafts/1/product_files/1", "--not-done"],
    ]) {
      expect(await run(...args)).toMatchObject({
        code: 6,
        stderr: expect.stringContaining("it was released by force, and a call of it may be in flight"),
      });
    }
    holder.answer();
    const { code, stderr } = await holder.ended;
    expect(code).toBe(4);
    expect(stderr).toContain("[outcome-not-recorded]");
    expect(stderr).toContain(
      "hint: Wait until the lock is free (`draftsync lock status`), then run `draftsync state recover`",
    );
    expect(stderr).toContain(
      "POST /api/drafts/1/product_files for drafts/1/product_files/1: done\n  saved in ",
    );
    expect(proxy.seen).toHaveLength(1);
    const list = await run("state", "list", "--json");
    expect(JSON.parse(list.stdout).entries).toMatchObject([
      { address: "drafts/1/product_files/1", type: "operation" },
    ]);
  });
});

describe("holder that waits to retry a refused publish", () => {
  const publishes = () => proxy.seen.filter((request) => request === "POST /api/products");

  async function startWaiting() {
    await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\n" });
    const body = JSON.stringify({ errors: [{ status: "429", title: "Slow down" }] });
    // Long enough for the two commands that release the lock, on a machine that is busy.
    const headers = { "retry-after": "20", "content-type": "application/vnd.api+json" };
    proxy.choose = ({ method }) =>
      method === "POST" ? { type: "answer", status: 429, headers, body } : undefined;
    const holder = start(["apply", "--auto-approve"]);
    await expect.poll(() => holder.stderr(), { timeout: 60_000 }).toContain("rate limited; retrying");
    proxy.choose = () => undefined;
    return holder;
  }

  test("does not retry once its lock was released, and leaves nothing in doubt", async () => {
    const holder = await startWaiting();
    const { lock } = await lockStatus();
    expect((await run("lock", "release", lock.id, "--auto-approve")).code).toBe(0);
    const { code, stderr } = await holder.ended;
    expect(code).toBe(6);
    expect(stderr).toContain("[lock-lost]");
    expect(publishes()).toHaveLength(1);
    expect((await apply()).code).toBe(0);
    expect(sandbox.state().products).toHaveLength(1);
  });

  test("leaves nothing in doubt when it is killed", async () => {
    const holder = await startWaiting();
    // The wait is reported before the refusal is recorded.
    const plan = async () => (await run("plan")).stdout;
    await expect.poll(plan, { timeout: 15_000 }).toContain("Plan: 1 to publish.");
    holder.kill("SIGKILL");
    await holder.ended;
    expect((await run("plan")).stdout).toContain("Plan: 1 to publish.");
  });
});

describe("holder that was stopped", () => {
  test("sends and records nothing more after another machine took over its lock", async () => {
    const holder = await startHolder();
    holder.kill("SIGSTOP");
    await takeOverElsewhere();
    holder.answer();
    holder.kill("SIGCONT");
    const { code, stderr } = await holder.ended;
    expect(code).toBe(4);
    expect(stderr).toContain("The lock of the workspace");
    expect(stderr).toContain("for drafts/1/product_files/1: done\n  saved in ");
    expect(proxy.seen).toEqual(["POST /api/drafts/1/product_files"]);
    expect(sandbox.state().products).toEqual([]);
  });
});
