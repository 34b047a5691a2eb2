import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isReady, waitForNext } from "../../../../src/cli/reconcile/serve.ts";

const minute = 60_000;
const hour = 60 * minute;
const pace = { intervalMs: 15 * minute, tookMs: 0, random: 0 };

describe("the next run", () => {
  test.each([
    { name: "begins an interval after the beginning of the last one", given: {}, ms: 15 * minute },
    {
      name: "is that much nearer to the end of one that took a while",
      given: { tookMs: minute },
      ms: 14 * minute,
    },
    { name: "is delayed by one that took longer, and follows at once", given: { tookMs: hour }, ms: 0 },
    { name: "begins up to a tenth later", given: { random: 0.999 }, ms: 15 * minute + 89_910 },
  ])("$name", ({ given, ms }) => {
    expect(waitForNext({ ...pace, ...given })).toBe(ms);
  });

  test("never comes before its time, nor later than the interval and a tenth of it", () => {
    const times = fc.record({
      intervalMs: fc.integer({ min: 1_000, max: 100 * hour }),
      tookMs: fc.integer({ min: 0, max: 100 * hour }),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    });
    fc.assert(
      fc.property(times, (given) => {
        const ms = waitForNext(given);
        const { intervalMs, tookMs } = given;
        expect(ms).toBeGreaterThanOrEqual(Math.max(0, intervalMs - tookMs));
        expect(ms).toBeLessThanOrEqual(1.1 * intervalMs + 1);
      }),
    );
  });
});

describe("readiness", () => {
  const facts = { intervalMs: minute, lastTookMs: 1_000 };

  test.each([
    { name: "there is none before a run has succeeded", sinceSuccessMs: undefined, ready: false },
    { name: "a success an interval ago is enough", sinceSuccessMs: minute, ready: true },
    { name: "jitter does not spoil it", sinceSuccessMs: 2.1 * minute, ready: true },
    { name: "it ends after two intervals", sinceSuccessMs: 2.3 * minute, ready: false },
  ])("$name", ({ sinceSuccessMs, ready }) => {
    expect(isReady({ ...facts, sinceSuccessMs })).toBe(ready);
  });

  test("runs that take longer than the interval are given the time they take", () => {
    expect(isReady({ intervalMs: minute, lastTookMs: hour, sinceSuccessMs: 1.9 * hour })).toBe(true);
    expect(isReady({ intervalMs: minute, lastTookMs: hour, sinceSuccessMs: 2.3 * hour })).toBe(false);
  });
});
