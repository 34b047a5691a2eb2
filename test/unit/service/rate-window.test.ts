import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RateWindow } from "../../../src/service/rate-window.ts";
import { runs } from "../../support/runs.ts";
import { largestWindow } from "./support/largest-window.ts";

/** One call: its time to the server and back, or the time after which it counts as lost. */
interface Journey {
  readonly there: number;
  readonly back: number;
  readonly lostMs?: number;
}

const settleMs = 300;

/**
 * Sends calls one after another as soon as the window lets them, on a virtual clock, and returns when they arrived at
 * the server and when the last one had ended.
 */
function simulate(
  bound: { limit: number; windowMs: number },
  journeys: readonly Journey[],
  pauses: readonly number[],
) {
  const window = new RateWindow(bound);
  const ends: { at: number; holdMs: number }[] = [];
  const arrivals: number[] = [];
  let now = 0;
  for (const [index, journey] of journeys.entries()) {
    now += pauses[index] ?? 0;
    for (;;) {
      const ended = ends.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
      for (const end of ended) {
        window.release(end.at, end.holdMs);
        ends.splice(ends.indexOf(end), 1);
      }
      if (window.take(now)) break;
      const nextEnd = Math.min(...ends.map(({ at }) => at));
      const next = Math.min(nextEnd, window.nextAt(now) ?? Number.POSITIVE_INFINITY);
      now = next > now ? next : now + 0.001;
    }
    arrivals.push(now + journey.there);
    const { lostMs } = journey;
    ends.push(
      lostMs === undefined
        ? { at: now + journey.there + journey.back, holdMs: 0 }
        : { at: now + lostMs, holdMs: settleMs },
    );
  }
  return { arrivals, end: Math.max(now, ...ends.map(({ at }) => at)) };
}

const delay = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 2000 }));
const answered = fc.record({ there: delay, back: delay });
/** A lost call, which may still arrive within the settle delay. */
const lost = fc
  .record({ lostMs: fc.integer({ min: 1, max: 500 }), late: fc.integer({ min: 0, max: settleMs }) })
  .map(({ lostMs, late }) => ({ there: lostMs + late, back: 0, lostMs }));
const bounds = fc.record({ limit: fc.integer({ min: 1, max: 12 }), windowMs: fc.constantFrom(50, 1000) });

describe("RateWindow", () => {
  it("admits at most the limit in any window under random network delays", () => {
    fc.assert(
      fc.property(
        bounds,
        fc.array(fc.oneof({ weight: 5, arbitrary: answered }, { weight: 1, arbitrary: lost }), {
          maxLength: 60,
        }),
        fc.array(fc.integer({ min: 0, max: 300 })),
        (bound, journeys, pauses) => {
          const { arrivals } = simulate(bound, journeys, pauses);
          expect(largestWindow(arrivals, bound.windowMs)).toBeLessThanOrEqual(bound.limit);
        },
      ),
      runs(200),
    );
  });

  it("reaches nine tenths of limit / (window + round trip) with a steady round trip", () => {
    fc.assert(
      fc.property(bounds, fc.integer({ min: 1, max: 400 }), (bound, roundTrip) => {
        const calls = bound.limit * 40;
        const { end } = simulate(bound, Array(calls).fill({ there: roundTrip / 2, back: roundTrip / 2 }), []);
        expect(calls / end).toBeGreaterThanOrEqual((0.9 * bound.limit) / (bound.windowMs + roundTrip));
      }),
      runs(60),
    );
  });

  it("counts a call in flight and for the closed window after its end", () => {
    const window = new RateWindow({ limit: 1, windowMs: 100 });
    expect(window.take(0)).toBe(true);
    expect(window.take(5000)).toBe(false);
    expect(window.nextAt(5000)).toBeUndefined();
    window.release(5000);
    expect(window.nextAt(5000)).toBe(5100);
    expect(window.take(5100)).toBe(false);
    expect(window.take(5100.001)).toBe(true);
  });

  it("keeps the slot of a lost call for the hold", () => {
    const window = new RateWindow({ limit: 2, windowMs: 100 });
    window.take(0);
    window.take(0);
    window.release(10, 1000);
    window.release(20);
    expect(window.nextAt(20)).toBe(120);
    expect(window.take(121)).toBe(true);
    expect(window.nextAt(121)).toBe(1110);
  });

  it("immediately frees the slot of a call that was not sent", () => {
    const window = new RateWindow({ limit: 1, windowMs: 100 });
    window.take(0);
    window.cancel();
    expect(window.take(0)).toBe(true);
  });

  it("can be narrowed for a while, never widened", () => {
    const window = new RateWindow({ limit: 2, windowMs: 100 });
    expect(window.take(0, 1)).toBe(true);
    expect(window.take(0, 1)).toBe(false);
    expect(window.take(0, 99)).toBe(true);
    expect(window.take(0, 99)).toBe(false);
    window.release(0);
    window.release(50);
    expect(window.nextAt(60, 1)).toBe(150);
  });

  it("reports the room left by the limit and by a lowered limit", () => {
    const window = new RateWindow({ limit: 5, windowMs: 100 });
    for (const _call of [1, 2, 3]) window.take(0);
    window.release(0);
    expect([window.room(0), window.room(100, 4), window.room(100, 2), window.room(101, 2)]).toEqual([
      2, 1, -1, 0,
    ]);
  });
});
