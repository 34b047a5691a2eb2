import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SlowStart } from "../../../src/service/slow-start.ts";

describe("SlowStart", () => {
  it("is closed until the longest pause ends", () => {
    const slowStart = new SlowStart(10);
    expect(slowStart.pause(100, { ms: 50, refused: true })).toBe(true);
    expect(slowStart.pause(110, { ms: 20, refused: true })).toBe(false);
    expect(slowStart.pause(110, { ms: 40, refused: true })).toBe(false);
    expect(slowStart.waitMs(120)).toBe(30);
    expect(slowStart.waitMs(150)).toBe(0);
  });

  it("starts with one slot after a refusal, and doubles them as calls succeed", () => {
    const slowStart = new SlowStart(10);
    slowStart.pause(0, { ms: 10, refused: true });
    const capacities = [slowStart.capacity];
    for (let call = 0; call < 20; call += 1) {
      slowStart.succeeded(slowStart.epoch);
      capacities.push(slowStart.capacity);
    }
    expect(capacities).toEqual([1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 10, 10, 10, 10, 10, 10]);
  });

  it.each([0, -5])("ignores a pause of %i ms", (ms) => {
    const slowStart = new SlowStart(10);
    expect(slowStart.pause(100, { ms, refused: false })).toBe(false);
  });

  it("starts with one slot after a refusal without a time", () => {
    const slowStart = new SlowStart(10);
    slowStart.pause(0, { ms: 0, refused: true });
    expect([slowStart.waitMs(0), slowStart.capacity]).toEqual([0, 1]);
  });

  it("starts with all slots, and keeps them when a quota is exhausted", () => {
    const slowStart = new SlowStart(10);
    slowStart.pause(0, { ms: 10, refused: false });
    expect([slowStart.waitMs(0), slowStart.capacity]).toEqual([10, 10]);
  });

  it("ignores successes of calls sent before the refusal", () => {
    const slowStart = new SlowStart(10);
    const { epoch } = slowStart;
    slowStart.pause(0, { ms: 10, refused: true });
    slowStart.succeeded(epoch);
    expect(slowStart.capacity).toBe(1);
  });

  it("never exceeds its limit or ends a pause early", () => {
    const step = fc.oneof(
      fc.record({ ms: fc.integer({ min: -5, max: 100 }), refused: fc.boolean() }),
      fc.constant("success" as const),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step), (limit, steps) => {
        const slowStart = new SlowStart(limit);
        let openAt = 0;
        for (const [now, one] of steps.entries()) {
          if (one === "success") slowStart.succeeded(slowStart.epoch);
          else {
            slowStart.pause(now, one);
            openAt = Math.max(openAt, now + one.ms);
          }
          expect(slowStart.waitMs(now)).toBe(Math.max(0, openAt - now));
          expect(slowStart.capacity).toBeGreaterThanOrEqual(1);
          expect(slowStart.capacity).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });
});
