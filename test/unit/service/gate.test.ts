import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Gate } from "../../../src/service/gate.ts";

describe("Gate", () => {
  it("is open with all slots at first", () => {
    const gate = new Gate(10);
    expect([gate.waitMs(0), gate.capacity]).toEqual([0, 10]);
  });

  it("holds back until the longest of the pauses has passed", () => {
    const gate = new Gate(10);
    expect(gate.pause(100, { ms: 50, refused: true })).toBe(true);
    expect(gate.pause(110, { ms: 20, refused: true })).toBe(false);
    expect(gate.waitMs(120)).toBe(30);
    expect(gate.waitMs(150)).toBe(0);
  });

  it("starts again with one slot after a refusal and doubles as calls succeed", () => {
    const gate = new Gate(10);
    gate.pause(0, { ms: 10, refused: true });
    const capacities = [gate.capacity];
    for (let call = 0; call < 20; call += 1) {
      gate.succeeded(gate.epoch);
      capacities.push(gate.capacity);
    }
    expect(capacities).toEqual([1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 10, 10, 10, 10, 10, 10]);
  });

  it.each([0, -5])("takes a pause of %i ms for none", (ms) => {
    const gate = new Gate(10);
    expect(gate.pause(100, { ms, refused: false })).toBe(false);
  });

  it("is held back no longer by the same pause again", () => {
    const gate = new Gate(10);
    gate.pause(100, { ms: 50, refused: false });
    expect(gate.pause(110, { ms: 40, refused: false })).toBe(false);
  });

  it("starts slowly after a refusal that names no time, too", () => {
    const gate = new Gate(10);
    gate.pause(0, { ms: 0, refused: true });
    expect([gate.waitMs(0), gate.capacity]).toEqual([0, 1]);
  });

  it("keeps its slots when a quota is announced to be used up", () => {
    const gate = new Gate(10);
    gate.pause(0, { ms: 10, refused: false });
    expect([gate.waitMs(0), gate.capacity]).toEqual([10, 10]);
  });

  it("learns nothing from calls that were sent before the refusal", () => {
    const gate = new Gate(10);
    const { epoch } = gate;
    gate.pause(0, { ms: 10, refused: true });
    gate.succeeded(epoch);
    expect(gate.capacity).toBe(1);
  });

  it("only ever slows down", () => {
    const step = fc.oneof(
      fc.record({ ms: fc.integer({ min: -5, max: 100 }), refused: fc.boolean() }),
      fc.constant("success" as const),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step), (limit, steps) => {
        const gate = new Gate(limit);
        let openAt = 0;
        for (const [now, one] of steps.entries()) {
          if (one === "success") gate.succeeded(gate.epoch);
          else {
            gate.pause(now, one);
            openAt = Math.max(openAt, now + one.ms);
          }
          expect(gate.waitMs(now)).toBe(Math.max(0, openAt - now));
          expect(gate.capacity).toBeGreaterThanOrEqual(1);
          expect(gate.capacity).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });
});
