import fc from "fast-check";
import { expect, test } from "vitest";
import { makeRateWindow } from "../../../src/sandbox/gate.ts";

const bounds = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  windowMs: fc.integer({ min: 1, max: 50 }),
});
const gaps = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 60 });

function timesOf(between: number[]): number[] {
  let time = 0;
  return between.map((gap) => {
    time += gap;
    return time;
  });
}

test("admits a call if and only if the window before it has room", () => {
  fc.assert(
    fc.property(bounds, gaps, (bound, between) => {
      const window = makeRateWindow(bound);
      const times = timesOf(between);
      for (const [index, at] of times.entries()) {
        const inWindow = times.slice(0, index + 1).filter((time) => at - time < bound.windowMs).length;
        const verdict = window.arrive(at);
        expect(verdict.admitted).toBe(inWindow <= bound.limit);
        expect(verdict.remaining).toBe(Math.max(0, bound.limit - inWindow));
      }
    }),
  );
});

test("admits a call that waits as long as requested, and no earlier one", () => {
  fc.assert(
    fc.property(bounds, gaps, (bound, between) => {
      const times = timesOf(between);
      const replay = () => {
        const window = makeRateWindow(bound);
        return { window, last: times.map((at) => window.arrive(at)).at(-1) };
      };
      const { last, window } = replay();
      const wait = last?.retryAfterMs ?? 0;
      const end = times.at(-1) ?? 0;
      expect(window.arrive(end + wait).admitted).toBe(true);
      if (wait > 0) expect(replay().window.arrive(end + wait - 1).admitted).toBe(false);
    }),
  );
});
