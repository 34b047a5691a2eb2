import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isReady, waitForNext } from "../../../../src/cli/reconcile/serve.ts";

const minute = 60_000;
const hour = 60 * minute;
const pace = { intervalMs: 15 * minute, tookMs: 0, random: 0 };

describe("next run", () => {
  test.each([
    { name: "starts an interval after the last", given: {}, ms: 15 * minute },
    { name: "waits less after a long run", given: { tookMs: minute }, ms: 14 * minute },
    { name: "lets a waiting command have the lock after a longer run", given: { tookMs: hour }, ms: 1_000 },
    { name: "starts up to a tenth later", given: { random: 0.999 }, ms: 15 * minute + 89_910 },
  ])("$name", ({ given, ms }) => {
    expect(waitForNext({ ...pace, ...given })).toBe(ms);
  });

  test("starts between an interval and 1.1 intervals after the last start", () => {
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
  const timing = { intervalMs: minute, lastTookMs: 1_000 };

  test.each([
    ["is false before the first success", undefined, false],
    ["is true an interval after a success", minute, true],
    ["is true after two intervals and jitter", 2.1 * minute, true],
    ["is false after more than two intervals", 2.3 * minute, false],
  ])("%s", (_name, sinceSuccessMs, ready) => {
    expect(isReady({ ...timing, sinceSuccessMs })).toBe(ready);
  });

  test("allows runs longer than the interval their time", () => {
    expect(isReady({ intervalMs: minute, lastTookMs: hour, sinceSuccessMs: 1.9 * hour })).toBe(true);
    expect(isReady({ intervalMs: minute, lastTookMs: hour, sinceSuccessMs: 2.3 * hour })).toBe(false);
  });
});
