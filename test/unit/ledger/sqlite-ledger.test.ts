import { copyFileSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { expect, test } from "vitest";
import { describeLedgerJournal } from "./ledger-journal-suite.ts";
import { describeLedgerLock, lockRequest, onMachine, onThisMachine, passing } from "./ledger-lock-suite.ts";
import { describeLedgerReconcile } from "./ledger-reconcile-suite.ts";
import { describeLedgerReplay } from "./ledger-replay-suite.ts";
import { describeLedgerRestored } from "./ledger-restored-suite.ts";
import { describeLedgerState } from "./ledger-state-suite.ts";
import { describeLedger } from "./ledger-suite.ts";
import { attachOperation, sampleRun } from "./ledger-values.ts";
import { describeRateReservations, request } from "./rate-reservations-suite.ts";
import { freshFolder, lockPlace, openForTest } from "./samples.ts";

async function makeSqlite() {
  const location = join(freshFolder(), "state.db");
  return { ledger: await openForTest(location), reopen: () => openForTest(location) };
}

describeLedger("SQLite", makeSqlite);
describeLedgerJournal("SQLite", makeSqlite);
describeLedgerState("SQLite", makeSqlite);
describeLedgerReconcile("SQLite", makeSqlite);
describeLedgerReplay("SQLite", makeSqlite);
describeLedgerRestored("SQLite", makeSqlite);

describeLedgerLock("SQLite", () => lockPlace(join(freshFolder(), "state.db")));
describeRateReservations("SQLite", () => lockPlace(join(freshFolder(), "state.db")));

test("measures a lease by the boot clock, not by the wall clock", async () => {
  const { open, execute } = lockPlace(join(freshFolder(), "state.db"));
  const container = (namespace: string) => ({
    self: { boot: "this boot", namespace, pid: 7 },
    isAlive: () => undefined,
  });
  const ann = await open(container("one"));
  const bob = await open(container("two"));
  await ann.acquireLock(lockRequest("ann"));
  await execute(passing.wall(86_400_000));
  await expect(bob.acquireLock(lockRequest("bob"))).rejects.toMatchObject({ code: "lock-held" });
  // A copy of the file on another machine, or the same machine after a restart, has another clock.
  const later = await open(onMachine("another boot"));
  expect(await later.heldLock()).toMatchObject({ state: "expired" });
});

test("notes when the calls of a dead holder were lost, whatever its clock said", async () => {
  const { open, execute } = lockPlace(join(freshFolder(), "state.db"));
  const dead = new Set<number>();
  const ann = await open(onThisMachine(1, dead));
  await ann.acquireLock(lockRequest("ann"));
  await ann.startRun(sampleRun);
  await ann.begin(attachOperation("op"));
  const hour = 3_600_000;
  await execute(passing.wall(hour));
  await execute(`update operations set started_at = started_at - ${hour}`);
  dead.add(1);
  const bob = await open(onThisMachine(2, dead));
  await bob.acquireLock(lockRequest("bob"));
  const [lost] = (await bob.load()).inDoubt;
  expect(Date.now() - (lost?.finishedAt ?? 0)).toBeLessThan(60_000);
});

test("counts rate reservations of an earlier boot for the settle delay and a window after they are found", async () => {
  const { open, execute } = lockPlace(join(freshFolder(), "state.db"));
  const before = await open(onMachine("a boot"));
  const { wanted } = request(10);
  await before.reserve(request(0, { wanted }));
  await before.reserve(request(0, { ended: [{ ids: wanted.slice(0, 5), agoMs: () => 0 }] }));
  const after = await open(onMachine("the next boot"));
  expect(await after.reserve(request(1))).toMatchObject({ freeInMs: expect.closeTo(80_000, -2) });
  await execute("update rate_reservations set ended_at = ended_at - 80010");
  expect((await after.reserve(request(20))).reserved).toBe(10);
});

test.each(["publish", "duplicate"] as const)("has a %s in its file before it is sent", async (kind) => {
  const location = join(freshFolder(), "state.db");
  const ledger = await openForTest(location);
  await ledger.startRun(sampleRun);
  await ledger.begin({ ...attachOperation("op"), kind });
  const copy = join(freshFolder(), "state.db");
  copyFileSync(location, copy);
  expect((await (await openForTest(copy)).load()).inDoubt).toMatchObject([{ id: "op", kind }]);
});

test("has a publish in its file before it is sent, although another process was reading", async () => {
  const location = join(freshFolder(), "state.db");
  const ledger = await openForTest(location);
  await ledger.startRun(sampleRun);
  const reader = new Database(location);
  reader.exec("begin; select * from runs");
  const begun = ledger.begin({ ...attachOperation("op"), kind: "publish" });
  const other = await openForTest(location);
  await expect.poll(async () => (await other.load()).inDoubt).toHaveLength(1);
  reader.exec("commit");
  await begun;
  reader.close();
  const copy = join(freshFolder(), "state.db");
  copyFileSync(location, copy);
  expect((await (await openForTest(copy)).load()).inDoubt).toMatchObject([{ id: "op" }]);
});

test("has a publish that is sent again in its file before it is sent", async () => {
  const location = join(freshFolder(), "state.db");
  const ledger = await openForTest(location);
  await ledger.startRun(sampleRun);
  await ledger.begin({ ...attachOperation("op"), kind: "publish" });
  await ledger.finish("op", { outcome: "rejected", status: 429, attempts: 1 }, []);
  // The checkpoint before another publish puts the refusal into the file as well.
  await ledger.begin({ ...attachOperation("other"), kind: "publish" });
  await ledger.resend("op");
  const copy = join(freshFolder(), "state.db");
  copyFileSync(location, copy);
  const { inDoubt } = await (await openForTest(copy)).load();
  expect(inDoubt.map(({ id }) => id).sort()).toEqual(["op", "other"]);
});
