import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProcessIdentity } from "../../../src/model/process.ts";
import type { SlotShare, SlotTable } from "../../../src/model/slots.ts";
import {
  divideSlots,
  joinPauses,
  leaseMs,
  leaveSlots,
  type SlotNeed,
} from "../../../src/service/slot-division.ts";

const now = 1_000_000;
const bound = { limit: 10, windowMs: 1_000 };

function share(owner: string, other: Partial<SlotShare> = {}): SlotShare {
  return {
    owner,
    process: { boot: "here", namespace: "", pid: 1 },
    slots: 4,
    inFlight: 2,
    wanted: 4,
    windowMs: 1_000,
    holdMs: 5_000,
    timeoutMs: 300,
    servedAt: now,
    renewedAt: now,
    ...other,
  };
}

function need(other: Partial<SlotNeed> = {}): SlotNeed {
  const process: ProcessIdentity = { boot: "here", namespace: "", pid: 9 };
  const base = { owner: "me", process, bound, holdMs: 5_000, timeoutMs: 300 };
  return { ...base, used: 0, inFlight: 0, wanted: 1, wantedInFlight: 1, ...other };
}

const alive = { now, isAlive: () => true };

function divide(shares: readonly SlotShare[], other: Partial<SlotNeed> = {}, circumstances = alive) {
  return divideSlots({ shares }, need(other), circumstances);
}

describe("divideSlots gives", () => {
  test.each<[what: string, shares: readonly SlotShare[], need: Partial<SlotNeed>, slots: number]>([
    ["what is wanted and half of the rest", [], { wanted: 2 }, 6],
    ["all of it to one who wants all", [], { wanted: 10 }, 10],
    ["no more than the bound", [], { wanted: 50 }, 10],
    ["nothing to one who wants nothing", [], { wanted: 0 }, 0],
    ["what others have left", [share("a", { slots: 7, wanted: 7 })], { wanted: 3 }, 3],
    [
      "no more than is free, though its fair part is larger",
      [share("a", { slots: 9, wanted: 9 })],
      { wanted: 9 },
      1,
    ],
    ["nothing when nothing is free", [share("a", { slots: 10, wanted: 10 })], { wanted: 9 }, 0],
    ["its fair part alone while others want theirs", [share("a", { slots: 3, wanted: 9 })], { wanted: 9 }, 5],
    ["what those who want little leave", [share("a", { slots: 1, wanted: 1 })], { wanted: 20 }, 9],
    ["what is left of the ended", [share("a", { slots: 4, endedAt: now })], { wanted: 10 }, 6],
    [
      "its fair part of what is left of the ended",
      [share("a", { slots: 4, endedAt: now }), share("b", { slots: 0, wanted: 10 })],
      { wanted: 10 },
      3,
    ],
    [
      "what those who want little leave, though they have waited longer",
      [share("a", { slots: 1, wanted: 1, servedAt: now - 9 }), share("me", { servedAt: now - 1 })],
      { wanted: 10 },
      9,
    ],
    [
      "its part of few slots, of which those who want nothing have none",
      [
        share("a", { slots: 0, wanted: 0, servedAt: now - 5 }),
        share("b", { slots: 0, wanted: 2, servedAt: now - 9 }),
        share("me", { slots: 0, servedAt: now - 1 }),
      ],
      { bound: { limit: 2, windowMs: 1_000 }, wanted: 2 },
      1,
    ],
    [
      "the odd slot to the last by name",
      [share("a", { slots: 0, wanted: 3 })],
      { bound: { limit: 3, windowMs: 1_000 }, wanted: 3 },
      2,
    ],
    [
      "no odd slot when another is the last by name",
      [share("z", { slots: 0, wanted: 3 })],
      { bound: { limit: 3, windowMs: 1_000 }, wanted: 3 },
      1,
    ],
  ])("%s", (_what, shares, needed, slots) => {
    expect(divide(shares, needed).grant.slots).toBe(slots);
  });

  test("fewer than are in use, and keeps those in use in the table", () => {
    const shares = [
      share("me", { slots: 10, wanted: 10, inFlight: 3 }),
      share("a", { slots: 0, wanted: 10 }),
    ];
    const { grant, table } = divide(shares, { wanted: 12, used: 8, inFlight: 2, wantedInFlight: 1 });
    expect(grant).toMatchObject({ slots: 5, inFlight: 1 });
    expect(table.shares.at(-1)).toMatchObject({
      owner: "me",
      slots: 8,
      inFlight: 2,
      wanted: 10,
      renewedAt: now,
    });
  });

  test("to those who waited longest when there are fewer slots than processes", () => {
    const one = { limit: 1, windowMs: 1_000 };
    const waiting = share("a", { slots: 0, wanted: 1, servedAt: 0 });
    const served = share("me", { slots: 1, servedAt: now - 5 });
    expect(divide([waiting, served], { bound: one }).grant.slots).toBe(0);
    expect(
      divide([share("a", { slots: 0, wanted: 1, servedAt: now - 9 }), { ...served, servedAt: now - 10 }], {
        bound: one,
      }).grant.slots,
    ).toBe(1);
  });

  test.each<[what: string, shares: readonly SlotShare[], used: number, servedAt: number]>([
    ["when it is given slots", [], 0, now],
    [
      "while it has some in use, though it is given none",
      [share("a", { slots: 0, wanted: 1, servedAt: 0 }), share("me", { slots: 1, servedAt: now - 5 })],
      1,
      now,
    ],
    [
      "no longer when it has none",
      [share("a", { slots: 1, wanted: 1 }), share("me", { slots: 0, servedAt: now - 5 })],
      0,
      now - 5,
    ],
    ["never while it had none", [share("a", { slots: 1, wanted: 1 })], 0, 0],
  ])("its turn away: it counts as served %s", (_what, shares, used, servedAt) => {
    const { table } = divide(shares, { bound: { limit: 1, windowMs: 1_000 }, used });
    expect(table.shares.at(-1)).toMatchObject({ owner: "me", servedAt });
  });

  test("its own share on, though it was renewed too late, while nobody took it", () => {
    const { table } = divide([share("me", { slots: 5, renewedAt: now - 3 * leaseMs })], {
      wanted: 5,
      used: 5,
    });
    expect(table.shares).toHaveLength(1);
  });
});

describe("what others hold", () => {
  const dead = { now, isAlive: () => false };
  const unseen = { now, isAlive: () => undefined };

  test.each<
    [
      what: string,
      given: SlotShare,
      circumstances: typeof alive | typeof unseen,
      found: Partial<SlotShare> | undefined,
    ]
  >([
    ["counts while it lives", share("a"), alive, { slots: 4 }],
    [
      "counts for its lease",
      share("a", { renewedAt: now - leaseMs }),
      unseen,
      { slots: 4, renewedAt: now - leaseMs },
    ],
    ["ends when it is seen dead", share("a"), dead, { slots: 4, wanted: 0, endedAt: now, holdMs: 5_000 }],
    [
      "ends after its lease, and holds for as long as one of its calls may take besides",
      share("a", { renewedAt: now - leaseMs - 1 }),
      unseen,
      { endedAt: now, holdMs: 5_300, wanted: 0 },
    ],
    ["counts for a window after the end", share("a", { endedAt: now - 1_001 }), alive, { slots: 4 }],
    ["then as what was in flight", share("a", { endedAt: now - 1_002 }), alive, { slots: 2, inFlight: 2 }],
    ["for as long as the hold", share("a", { endedAt: now - 6_001 }), alive, { slots: 2 }],
    ["and then no more", share("a", { endedAt: now - 6_002 }), alive, undefined],
    ["nothing was in flight", share("a", { endedAt: now - 1_002, inFlight: 0 }), alive, undefined],
    [
      "is counted anew when the clock was set back",
      share("a", { endedAt: now + 9_000 }),
      alive,
      { endedAt: now, slots: 4 },
    ],
    [
      "lives on when the clock was set back",
      share("a", { servedAt: now + 9_000, renewedAt: now + 9_000 }),
      alive,
      { servedAt: now, renewedAt: now, slots: 4 },
    ],
  ])("%s", (_what, given, circumstances, found) => {
    const { table } = divideSlots({ shares: [given] }, need({ wanted: 0 }), circumstances);
    if (found === undefined) expect(table.shares).toEqual([]);
    else expect(table.shares).toEqual([{ ...given, ...found }]);
  });

  test("is the very same object while nothing changes, so that nothing is written", () => {
    const ended = share("b", { endedAt: now - 5 });
    const given = [share("a"), ended, share("c", { slots: 2, endedAt: now - 2_000 })];
    const { shares } = divide(given, { wanted: 0 }).table;
    expect(shares).toHaveLength(given.length);
    for (const [at, found] of shares.entries()) expect(found).toBe(given[at]);
  });

  test("tells when something of the ended will be free", () => {
    expect(divide([share("a")]).grant.freeInMs).toBeUndefined();
    expect(divide([share("a", { endedAt: now - 300 })]).grant.freeInMs).toBe(702);
    expect(divide([share("a", { endedAt: now - 2_000 })]).grant.freeInMs).toBe(4_002);
    const both = [share("a", { endedAt: now - 100 }), share("b", { endedAt: now - 300 })];
    expect(divide(both).grant.freeInMs).toBe(702);
  });
});

describe("leaveSlots", () => {
  test("leaves what is in use to count on", () => {
    const table: SlotTable = { shares: [share("me", { slots: 9 }), share("a")] };
    const [own, other] = leaveSlots(table, { owner: "me", used: 3, held: 1 }, alive).shares;
    expect(own).toMatchObject({ slots: 3, inFlight: 1, wanted: 0, endedAt: now });
    expect(other).toEqual(share("a"));
  });

  test("leaves nothing where nothing is in use, and what was lost before as it is", () => {
    expect(leaveSlots({ shares: [share("me")] }, { owner: "me", used: 0, held: 0 }, alive).shares).toEqual(
      [],
    );
    const lost = share("me", { endedAt: now - 5 });
    expect(leaveSlots({ shares: [lost] }, { owner: "me", used: 0, held: 0 }, alive).shares).toEqual([lost]);
  });
});

describe("joinPauses", () => {
  test.each([
    ["none", undefined, 0, undefined],
    ["one that is asked for", undefined, 500, { setAt: now, ms: 500 }],
    ["the longer one: asked for", { setAt: now - 100, ms: 500 }, 401, { setAt: now, ms: 401 }],
    ["the longer one: known", { setAt: now - 100, ms: 500 }, 399, { setAt: now - 100, ms: 500 }],
    [
      "the known one when both are as long",
      { setAt: now - 100, ms: 500 },
      400,
      { setAt: now - 100, ms: 500 },
    ],
    ["none that is over", { setAt: now - 500, ms: 500 }, -5, undefined],
    [
      "a known one anew when the clock was set back",
      { setAt: now + 7_000, ms: 500 },
      0,
      { setAt: now, ms: 500 },
    ],
  ])("%s", (_what, known, asked, joined) => {
    expect(joinPauses(known, asked, now)).toEqual(joined);
  });
});

test("whatever is in the table, nobody is given more than is left of the bound", () => {
  const arbitraryShare = fc.record({
    slots: fc.nat(6),
    wanted: fc.nat(15),
    servedAt: fc.integer({ min: now - 100, max: now }),
    renewedAt: fc.integer({ min: now - 2 * leaseMs, max: now + 50 }),
    endedAt: fc.option(fc.integer({ min: now - 8_000, max: now + 50 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(arbitraryShare, { maxLength: 5 }), fc.nat(15), fc.nat(3), (others, wanted, used) => {
      const shares = others.map(({ endedAt, ...other }, at) =>
        share(`p${at}`, { inFlight: 0, ...other, ...(endedAt === undefined ? {} : { endedAt }) }),
      );
      const { grant, table } = divide([...shares, share("me", { slots: used })], { wanted, used });
      const rest = table.shares.filter(({ owner }) => owner !== "me");
      const held = rest.reduce((sum, { slots }) => sum + slots, 0);
      const own = table.shares.find(({ owner }) => owner === "me")?.slots ?? 0;
      expect(grant.slots).toBeLessThanOrEqual(Math.max(0, bound.limit - held));
      expect(own).toBe(Math.max(grant.slots, used));
      expect(new Set(table.shares.map(({ owner }) => owner)).size).toBe(table.shares.length);
    }),
  );
});
