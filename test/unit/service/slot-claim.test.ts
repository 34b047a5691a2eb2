import { expect, test } from "vitest";
import type { SlotShare, SlotTable } from "../../../src/model/slots.ts";
import { SlotClaim, type SlotHolder, type SlotUse } from "../../../src/service/slot-claim.ts";

const idle: SlotUse = { inFlight: 0, used: 0, held: 0, waiting: 0 };

/** A claim whose store a test answers by hand: `decide` as at the transaction's end, `commit` once it is durable. */
function makeClaim() {
  let use = idle;
  let table: SlotTable = { shares: [] };
  const monotonic = 50_000;
  const seen: unknown[] = [];
  const turns: { decide(): SlotTable; commit(): Promise<void>; fail(error: Error): Promise<void> }[] = [];
  const holder: SlotHolder = {
    use: () => use,
    changed: () => {},
    paused: () => {},
    starved: () => {},
    failed: (error) => void seen.push(error),
  };
  const store = {
    updateSlots: (decide: (table: SlotTable, now: number) => SlotTable) =>
      new Promise<SlotTable>((resolve, reject) => {
        let decided = table;
        turns.push({
          decide: () => {
            decided = decide(table, 7_000);
            return decided;
          },
          commit: async () => {
            table = decided;
            resolve(decided);
            await settle();
          },
          fail: async (error) => {
            reject(error);
            await settle();
          },
        });
      }),
  };
  const claim = new SlotClaim(
    { store, process: { space: "here", pid: 1 }, isAlive: () => true, holdMs: 500, timeoutMs: 100 },
    {
      bound: { limit: 10, windowMs: 1_000 },
      clock: { now: () => 0, monotonic: () => monotonic },
      holder,
    },
  );
  const setUse = (given: Partial<SlotUse>) => {
    use = { ...idle, ...given };
  };
  const addShare = (share: SlotShare) => {
    table = { shares: [...table.shares, share] };
  };
  const endAll = () => {
    table = { shares: table.shares.map((share) => ({ ...share, slots: 4, endedAt: 7_000 })) };
  };
  return { claim, turns, setUse, addShare, endAll, seen };
}

/** Lets everything that follows from an answer happen. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function other(slots: number, wanted: number): SlotShare {
  const times = { windowMs: 1_000, holdMs: 500, timeoutMs: 100, servedAt: 7_000, renewedAt: 7_000 };
  return { owner: "other", process: { space: "here", pid: 2 }, slots, inFlight: 1, wanted, ...times };
}

test("a grant rises once it is durable, and lowers when it is decided", async () => {
  const { claim, turns, setUse, addShare } = makeClaim();
  setUse({ waiting: 10 });
  claim.ask();
  turns[0]?.decide();
  expect([claim.slots, claim.mayStart(0)]).toEqual([0, false]);
  await turns[0]?.commit();
  expect([claim.slots, claim.mayStart(9), claim.mayStart(10)]).toEqual([10, true, false]);
  addShare(other(0, 10));
  setUse({ waiting: 8 });
  claim.ask();
  turns[1]?.decide();
  expect([claim.slots, claim.mayStart(4), claim.mayStart(5)]).toEqual([5, true, false]);
  await turns[1]?.commit();
  expect([claim.slots, claim.mayStart(4)]).toEqual([5, true]);
});

test("a turn whose end nobody knows leaves the smaller of both grants", async () => {
  const { claim, turns, setUse, addShare, seen } = makeClaim();
  setUse({ waiting: 10 });
  claim.ask();
  turns[0]?.decide();
  await turns[0]?.commit();
  addShare(other(0, 10));
  claim.ask();
  turns[1]?.decide();
  const lost = new Error("the connection was lost");
  await turns[1]?.fail(lost);
  expect([claim.slots, seen]).toEqual([5, [lost]]);
});

test("a share that others took for dead is not used until another is granted", async () => {
  const { claim, turns, setUse, endAll } = makeClaim();
  setUse({ waiting: 10 });
  claim.ask();
  turns[0]?.decide();
  await turns[0]?.commit();
  endAll();
  setUse({ waiting: 10, used: 3 });
  claim.ask();
  const owners = turns[1]?.decide().shares.map(({ owner }) => owner);
  expect([claim.slots, new Set(owners).size]).toEqual([0, 2]);
});

test("one turn is taken at a time, and none after it was left", async () => {
  const { claim, turns, setUse } = makeClaim();
  setUse({ waiting: 1 });
  claim.ask();
  claim.ask();
  expect(turns).toHaveLength(1);
  turns[0]?.decide();
  await turns[0]?.commit();
  setUse({ used: 2, inFlight: 1, held: 1 });
  const left = claim.leave();
  await settle();
  expect(turns[1]?.decide().shares).toEqual([
    expect.objectContaining({ slots: 2, inFlight: 2, wanted: 0, endedAt: 7_000 }),
  ]);
  await turns[1]?.commit();
  await left;
  claim.ask();
  claim.pause(1_000);
  await claim.leave();
  expect(turns).toHaveLength(2);
});

test("a claim that never had anything leaves without a word", async () => {
  const { claim, turns } = makeClaim();
  await claim.leave();
  expect(turns).toEqual([]);
});
