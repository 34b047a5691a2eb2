import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import { type ProcessTable, systemProcesses } from "../../../src/model/process.ts";
import type { ReservationRequest } from "../../../src/model/rate.ts";
import { type LockPlace, lockRequest } from "./ledger-lock-suite.ts";

const bound = { limit: 10, windowMs: 60_000 };
const day = 86_400_000;

/** A request for this number of calls. */
export function request(calls: number, other: Partial<ReservationRequest> = {}): ReservationRequest {
  const wanted = Array.from({ length: calls }, () => randomUUID());
  const none = { ended: [], unsent: [], pauseMs: 0 };
  return { bound, callMs: 30_000, settleMs: 20_000, wanted, ...none, ...other };
}

const ended = (ids: readonly string[], agoMs: number) => [{ ids, agoMs: () => agoMs }];

/** A process of this boot that judges all others as `alive`. */
function processOf(namespace: string, alive?: boolean): ProcessTable {
  const self = { boot: systemProcesses.self.boot, namespace, pid: 7, startedAt: "1" };
  return { self, isAlive: (other) => (other.namespace === namespace ? true : alive) };
}

/** The table of rate reservations, in every database. */
export function describeRateReservations(name: string, make: () => LockPlace): void {
  describe(`${name}: rate reservations`, () => {
    async function makeTwo(other: ProcessTable = processOf("bob")) {
      const { open, execute } = make();
      const ann = await open(processOf("ann"));
      const bob = await open(other);
      const pass = (ms: number) =>
        execute(`update rate_reservations set lost_at = lost_at - ${ms}, ended_at = ended_at - ${ms}`);
      return { ann, bob, pass, execute };
    }
    const reserve = async (store: StateStore, calls: number, other: Partial<ReservationRequest> = {}) =>
      (await store.reserve(request(calls, other))).reserved;
    /** Reserves the whole limit for one process, and returns its calls. */
    async function fill(store: StateStore): Promise<readonly string[]> {
      const all = request(bound.limit);
      expect(await store.reserve(all)).toEqual({ reserved: bound.limit, pausedMs: 0 });
      return all.wanted;
    }

    test("never exceed the limit over all processes", async () => {
      const { ann, bob } = await makeTwo();
      const all = Array.from({ length: 30 }, (_none, at) => reserve(at % 2 === 0 ? ann : bob, 1));
      expect((await Promise.all(all)).filter((reserved) => reserved === 1)).toHaveLength(bound.limit);
      expect(await bob.reserve(request(3))).toEqual({ reserved: 0, pausedMs: 0 });
    });

    test("count for a window after the end of the call", async () => {
      const { ann, bob, pass } = await makeTwo();
      const [first = "", ...others] = await fill(ann);
      const nextMs = bound.windowMs - 5_000;
      expect(await ann.reserve(request(1, { ended: ended([first], 5_000) }))).toMatchObject({
        freeInMs: expect.closeTo(nextMs, -3),
      });
      await ann.reserve(request(0, { ended: ended(others, 0) }));
      await pass(nextMs - 1_000);
      expect(await reserve(bob, 3)).toBe(0);
      await pass(1_500);
      expect(await reserve(bob, 3)).toBe(1);
    });

    test("end immediately for a call that was not sent, and later for a lost one", async () => {
      const { ann, bob, pass } = await makeTwo();
      const [unsent = "", ...lost] = await fill(ann);
      await ann.reserve(request(0, { unsent: [unsent], ended: ended(lost, -20_000) }));
      expect(await reserve(bob, 3)).toBe(1);
      await pass(bound.windowMs + 19_000);
      expect(await reserve(bob, 1)).toBe(0);
      await pass(2_000);
      expect(await reserve(bob, 1)).toBe(1);
    });

    test("count for the settle delay and a window after their process is found dead", async () => {
      const { ann, bob, pass } = await makeTwo(processOf("bob", false));
      await fill(ann);
      expect(await bob.reserve(request(1))).toMatchObject({ freeInMs: expect.closeTo(80_000, -3) });
      await pass(81_000);
      expect(await reserve(bob, 20)).toBe(bound.limit);
    });

    test.each([undefined, true])(
      "count until the timeout of their calls when the liveness of their process is %s",
      async (alive) => {
        const { ann, bob, pass } = await makeTwo(processOf("bob", alive));
        await reserve(ann, 9);
        await pass(29_000);
        // Reserved later than the others, so it expires later.
        await reserve(ann, 1);
        expect(await bob.reserve(request(1))).toEqual({ reserved: 0, pausedMs: 0 });
        await pass(1_000);
        expect(await bob.reserve(request(1))).toMatchObject({ freeInMs: expect.closeTo(80_000, -3) });
        await pass(28_000);
        await reserve(bob, 1);
        await pass(53_000);
        expect(await reserve(bob, 20)).toBe(9);
      },
    );

    test("count for the settle delay and a window after they are found with times of a different clock", async () => {
      const { ann, bob, pass } = await makeTwo();
      const [first = "", ...others] = await fill(ann);
      await ann.reserve(request(0, { ended: ended([first], 0) }));
      await pass(-day);
      await ann.reserve(request(0, { ended: ended(others.slice(0, 3), 0) }));
      expect(await bob.reserve(request(1))).toMatchObject({ freeInMs: expect.closeTo(80_000, -3) });
      await pass(81_000);
      expect(await reserve(bob, 20)).toBe(bound.limit);
    });

    test("apply the smallest limit and the longest window of all processes", async () => {
      const { ann, bob, pass } = await makeTwo();
      const wide = request(6, { bound: { limit: 100, windowMs: 1_000 } });
      expect((await ann.reserve(wide)).reserved).toBe(6);
      expect(await reserve(bob, 20)).toBe(4);
      expect(await reserve(ann, 1, { bound: wide.bound })).toBe(0);
      await ann.reserve(request(0, { bound: wide.bound, ended: ended(wide.wanted, 0) }));
      await pass(2_000);
      expect(await reserve(ann, 1, { bound: wide.bound })).toBe(0);
    });

    test("count separately for each key in a table", async () => {
      const { ann, bob } = await makeTwo();
      await fill(ann);
      expect((await bob.reserve(request(3), "another")).reserved).toBe(3);
      expect((await bob.reserve(request(20), "another")).reserved).toBe(7);
    });

    test("wait for the longest pause that the service requested from any process", async () => {
      const { ann, bob, execute } = await makeTwo();
      expect((await ann.reserve(request(1, { pauseMs: 60_000 }))).reserved).toBe(0);
      await bob.reserve(request(0, { pauseMs: 1_000 }));
      expect(await bob.reserve(request(1))).toEqual({ reserved: 0, pausedMs: expect.closeTo(60_000, -3) });
      expect(await ann.pausedMs()).toBeCloseTo(60_000, -3);
      // Stored by a clock that was ahead.
      await execute(`update rate_pauses set set_at = set_at + ${day}`);
      expect((await bob.reserve(request(1))).pausedMs).toBe(60_000);
      await execute("update rate_pauses set set_at = set_at - 60000");
      expect(await reserve(bob, 1)).toBe(1);
      await execute(`update rate_pauses set set_at = set_at + ${day}`);
      expect(await ann.pausedMs()).toBe(0);
    });

    test("are not exported, and need no lock", async () => {
      const { ann, bob } = await makeTwo();
      await ann.acquireLock(lockRequest("ann"));
      const before = await ann.export();
      await fill(bob);
      expect(await ann.export()).toEqual(before);
      await ann.close();
      await expect(ann.reserve(request(1))).rejects.toMatchObject({ code: "ledger-closed" });
    });
  });
}
