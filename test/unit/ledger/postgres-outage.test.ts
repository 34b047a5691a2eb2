import pg from "pg";
import { expect, test } from "vitest";
import { Outage } from "../../../src/ledger/postgres/outage.ts";
import { CommitInDoubt } from "../../../src/ledger/postgres/postgres-dialect.ts";

const inDoubt = new CommitInDoubt({ connection: "c", number: 1 }, new Error("timeout"));
const lockTimeout = Object.assign(new pg.DatabaseError("lock timeout", 0, "error"), { code: "55P03" });

function makeOutage() {
  let time = 0;
  const waits: number[] = [];
  const outage = new Outage({ now: () => time, monotonic: () => time }, (ms) => waits.push(ms));
  const fail = (error: unknown, ms: number) =>
    outage
      .watch(true, async () => {
        time += ms;
        throw error;
      })
      .catch(() => {});
  return { outage, waits, fail };
}

test("an outage lasts while a commit that hangs keeps its locks, and its end is reported", async () => {
  const { outage, waits, fail } = makeOutage();
  await fail(inDoubt, 12_000);
  await fail(lockTimeout, 1_000);
  expect([outage.since, waits]).toEqual([0, [8_000]]);
  await outage.watch(true, async () => {});
  expect(outage.since).toBeUndefined();
});

test("a ledger that other writers lock is not lost", async () => {
  const { outage, fail } = makeOutage();
  await fail(lockTimeout, 1_000);
  expect(outage.since).toBeUndefined();
});

test("a wait that becomes longer is reported again", async () => {
  const { waits, fail } = makeOutage();
  await fail(Object.assign(new Error("reset"), { code: "ECONNRESET" }), 1_000);
  await fail(inDoubt, 2_000);
  expect(waits).toEqual([9_000, 17_000]);
});
