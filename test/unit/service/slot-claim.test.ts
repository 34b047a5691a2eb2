import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SlotPause, SlotShare, SlotTable } from "../../../src/model/slots.ts";
import { SlotClaim, type SlotHolder, type SlotUse } from "../../../src/service/slot-claim.ts";

const idle: SlotUse = { inFlight: 0, used: 0, held: 0, waiting: 0 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A claim whose store a test answers by hand: `decide` as at the transaction's end, `commit` once it is durable. */
function makeClaim() {
  let use = idle;
  let table: SlotTable = { shares: [] };
  const time = { monotonic: 50_000, now: 0 };
  const seen: unknown[] = [];
  const turns: { decide(): SlotTable; commit(): Promise<void>; fail(error: Error): Promise<void> }[] = [];
  const holder: SlotHolder = {
    use: () => use,
    changed: () => {},
    paused: (ms) => void seen.push({ pausedMs: ms }),
    starved: (ms) => void seen.push({ starvedMs: ms }),
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
    {
      store,
      process: { boot: "here", namespace: "", pid: 1 },
      isAlive: () => true,
      holdMs: 500,
      timeoutMs: 100,
    },
    {
      bound: { limit: 10, windowMs: 1_000 },
      clock: { now: () => time.now, monotonic: () => time.monotonic },
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
  const setPause = (pause: SlotPause) => {
    table = { ...table, pause };
  };
  /** Answers the newest turn; what it has decided. */
  const answer = async () => {
    const turn = turns.at(-1);
    const decided = turn?.decide();
    await turn?.commit();
    return decided;
  };
  const pass = async (ms: number) => {
    time.monotonic += ms;
    time.now += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  return { claim, turns, setUse, addShare, endAll, setPause, answer, pass, time, seen };
}

/** Lets everything that follows from an answer happen. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function other(slots: number, wanted: number): SlotShare {
  const times = { windowMs: 1_000, holdMs: 500, timeoutMs: 100, servedAt: 7_000, renewedAt: 7_000 };
  return {
    owner: "other",
    process: { boot: "here", namespace: "", pid: 2 },
    slots,
    inFlight: 1,
    wanted,
    ...times,
  };
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
  const { claim, turns, setUse, addShare, endAll } = makeClaim();
  setUse({ waiting: 10 });
  claim.ask();
  turns[0]?.decide();
  await turns[0]?.commit();
  endAll();
  addShare(other(0, 1));
  setUse({ waiting: 10, used: 3 });
  claim.ask();
  const owners = turns[1]?.decide().shares.map(({ owner }) => owner);
  expect([claim.slots, new Set(owners).size]).toEqual([0, 3]);
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

test.each(["monotonic", "now"] as const)(
  "a grant ends when it was not renewed for 6 s by %s",
  async (clock) => {
    const { claim, setUse, answer, time } = makeClaim();
    setUse({ waiting: 10 });
    claim.ask();
    await answer();
    time[clock] += 5_999;
    expect([claim.isValid(), claim.slots, claim.mayStart(0)]).toEqual([true, 10, true]);
    time[clock] += 1;
    expect([claim.isValid(), claim.slots, claim.mayStart(0)]).toEqual([false, 0, false]);
  },
);

test("as many may be in flight as were since the last turn", async () => {
  const { claim, setUse, answer } = makeClaim();
  claim.started(5);
  claim.started(3);
  setUse({ used: 1, inFlight: 1, waiting: 1 });
  claim.ask();
  expect((await answer())?.shares).toEqual([expect.objectContaining({ inFlight: 5 })]);
  claim.ask();
  expect((await answer())?.shares).toEqual([expect.objectContaining({ inFlight: 2 })]);
});

test("no more in flight are asked for than the bound lets start", async () => {
  const { claim, setUse, answer } = makeClaim();
  setUse({ used: 8, inFlight: 1, waiting: 50 });
  claim.ask();
  expect((await answer())?.shares).toEqual([expect.objectContaining({ inFlight: 3 })]);
});

test("slots that were not to be had are asked for again after 200 ms, once", async () => {
  const { claim, turns, setUse, addShare, answer, pass } = makeClaim();
  addShare(other(10, 10));
  setUse({ waiting: 4 });
  claim.ask();
  await answer();
  claim.ask();
  claim.ask();
  await pass(199);
  expect(turns).toHaveLength(1);
  await pass(1);
  expect(turns).toHaveLength(2);
  await answer();
  await pass(250);
  claim.ask();
  expect(turns).toHaveLength(3);
});

test.each([
  ["when all that was asked for was granted", { mine: 4, others: 0 }, { used: 4, waiting: 1 }, 0],
  ["within what was granted", { mine: 10, others: 0, wanted: 10 }, { used: 4, waiting: 9 }, 0],
  ["when it was not renewed", { mine: 10, others: 0, wanted: 10 }, { used: 5, waiting: 9 }, 6_000],
] as const)("more slots are asked for at once %s", async (_when, { mine, ...them }, use, passedMs) => {
  const { claim, turns, setUse, addShare, answer, time } = makeClaim();
  if ("wanted" in them) addShare(other(them.others, them.wanted));
  setUse({ waiting: mine });
  claim.ask();
  await answer();
  time.monotonic += passedMs;
  setUse(use);
  const before = turns.length;
  claim.ask();
  expect(turns.length - before).toBe(1);
});

test("a pause is told at once, and a shorter one is not told again", async () => {
  const { claim, turns, answer, seen } = makeClaim();
  claim.pause(1_000);
  expect((await answer())?.pause).toEqual({ setAt: 7_000, ms: 1_000 });
  claim.pause(1_000);
  claim.pause(500);
  expect(turns).toHaveLength(1);
  claim.pause(1_500);
  expect((await answer())?.pause).toEqual({ setAt: 7_000, ms: 1_500 });
  expect(seen).toEqual([{ pausedMs: 1_000 }, { pausedMs: 1_500 }]);
});

test("a pause that comes while a turn is taken is told in the next one, at once", async () => {
  const { claim, turns, setUse, answer } = makeClaim();
  setUse({ waiting: 1 });
  claim.ask();
  claim.pause(1_000);
  expect((await answer())?.pause).toBeUndefined();
  expect(turns).toHaveLength(2);
  expect((await answer())?.pause).toEqual({ setAt: 7_000, ms: 1_000 });
  expect(turns).toHaveLength(2);
});

test("a pause whose turn failed is told with the next one, and the store is not asked again at once", async () => {
  const { claim, turns, setUse, answer } = makeClaim();
  claim.pause(1_000);
  claim.pause(2_000);
  await turns[0]?.fail(new Error("gone"));
  expect(turns).toHaveLength(1);
  setUse({ waiting: 1 });
  claim.ask();
  expect((await answer())?.pause).toEqual({ setAt: 7_000, ms: 2_000 });
});

test.each([
  [{ setAt: 6_500, ms: 1_000 }, [{ pausedMs: 500 }], { setAt: 6_500, ms: 1_000 }],
  [{ setAt: 6_000, ms: 1_000 }, [], undefined],
])("a pause of another, %j, is kept for what is left of it", async (pause, told, kept) => {
  const { claim, setUse, setPause, answer, seen } = makeClaim();
  setPause(pause);
  setUse({ waiting: 1 });
  claim.ask();
  const decided = await answer();
  expect([decided?.pause, seen]).toEqual([kept, told]);
  expect("pause" in (decided ?? {})).toBe(kept !== undefined);
});

test("who has had no slots for a second says so, once", async () => {
  const { claim, setUse, addShare, answer, pass, seen } = makeClaim();
  addShare(other(10, 10));
  setUse({ waiting: 4 });
  claim.ask();
  await answer();
  await pass(999);
  claim.ask();
  await answer();
  expect(seen).toEqual([]);
  await pass(1);
  await answer();
  expect(seen).toEqual([{ starvedMs: expect.any(Number) }]);
  await pass(1_000);
  await answer();
  expect(seen).toHaveLength(1);
});

test("a share is renewed every second for as long as it is wanted", async () => {
  const { claim, turns, setUse, answer, pass } = makeClaim();
  setUse({ waiting: 1 });
  claim.ask();
  await answer();
  await pass(1_000);
  expect(turns).toHaveLength(2);
  setUse({});
  await answer();
  await pass(5_000);
  expect(turns).toHaveLength(2);
});
