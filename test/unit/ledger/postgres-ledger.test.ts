import { expect, test } from "vitest";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { describeLedgerJournal } from "./ledger-journal-suite.ts";
import { describeLedgerLock, lockRequest, onThisMachine } from "./ledger-lock-suite.ts";
import { describeLedgerReconcile } from "./ledger-reconcile-suite.ts";
import { describeLedgerReplay } from "./ledger-replay-suite.ts";
import { describeLedgerRestored } from "./ledger-restored-suite.ts";
import { describeLedgerState } from "./ledger-state-suite.ts";
import { describeLedger } from "./ledger-suite.ts";
import { attachOperation, sampleRun } from "./ledger-values.ts";
import { describeRateReservations } from "./rate-reservations-suite.ts";
import { freshSchema, lockPlace, openForTest } from "./samples.ts";

async function makePostgres() {
  const location = freshSchema();
  return { ledger: await openForTest(location), reopen: () => openForTest(location) };
}

describeLedger("PostgreSQL", makePostgres);
describeLedgerJournal("PostgreSQL", makePostgres);
describeLedgerState("PostgreSQL", makePostgres);
describeLedgerReconcile("PostgreSQL", makePostgres);
describeLedgerReplay("PostgreSQL", makePostgres);
describeLedgerRestored("PostgreSQL", makePostgres);

test.each([
  [-3_600_000, 3_600_000],
  [3_600_000, -3_600_000],
])(
  "dates operations by the server's clock, and not by that of a runner at %i or %i ms",
  async (...offsets) => {
    const location = freshSchema();
    const runners = offsets.map((ms) =>
      openForTest(location, { ...systemClock, now: () => Date.now() + ms }),
    );
    const [ann, bob] = (await Promise.all(runners)) as [StateStore, StateStore];
    const lost = async () => {
      const [operation] = await bob.lostWrites((await bob.now()) - 1000);
      return operation?.finishedAt;
    };
    const before = await bob.now();
    const lease = await ann.acquireLock(lockRequest("ann"));
    await ann.startRun(sampleRun);
    await ann.begin(attachOperation("op"));
    await ann.finish("op", { outcome: "unknown", attempts: 1 }, []);
    await lease.release();
    const at = await lost();
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(await ann.now());
    await bob.acquireLock(lockRequest("bob"));
    await bob.redate(["op"]);
    expect(await lost()).toBe(at);
  },
);

test("dates what a dead holder has sent by the server's clock", async () => {
  const location = freshSchema();
  const dead = new Set<number>();
  const behind = { ...systemClock, now: () => Date.now() - 3_600_000 };
  const ann = await openForTest(location, systemClock, onThisMachine(1, dead));
  const bob = await openForTest(location, behind, onThisMachine(2, dead));
  await ann.acquireLock(lockRequest("ann"));
  await ann.startRun(sampleRun);
  await ann.begin(attachOperation("op"));
  dead.add(1);
  const before = await bob.now();
  await bob.acquireLock(lockRequest("bob"));
  expect((await bob.load()).inDoubt[0]?.finishedAt).toBeGreaterThanOrEqual(before);
});

describeLedgerLock("PostgreSQL", () => lockPlace(freshSchema()));
describeRateReservations("PostgreSQL", () => lockPlace(freshSchema()));
