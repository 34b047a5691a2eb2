import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { RunBudget } from "../../../src/apply/run-budget.ts";
import { type Clock, systemClock } from "../../../src/model/ports.ts";

const clock: Clock = { now: () => 0, monotonic: () => 0 };

afterEach(() => void vi.useRealTimers());

describe("RunBudget", () => {
  test("starts operations that fit exactly, also after one that does not fit", () => {
    const budget = new RunBudget({ limits: { maxCalls: 10 }, spent: () => 0, clock });
    expect([4, 7, 5, 1, 1].map((calls) => budget.operation(() => calls).take())).toEqual([
      true,
      false,
      true,
      true,
      false,
    ]);
    expect(budget).toMatchObject({
      reached: "max_calls",
      isSpent: true,
      shortfall: { needed: 7, limit: 10 },
    });
  });

  test("counts every further call of an operation without refusing one", () => {
    const budget = new RunBudget({ limits: { maxCalls: 3 }, spent: () => 0, clock });
    const operation = budget.operation();
    expect([operation.take(), operation.take(), operation.take(), operation.take()]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([budget.take(), budget.reached]).toEqual([false, "max_calls"]);
  });

  test("counts calls made outside the budget", () => {
    let spent = 0;
    const budget = new RunBudget({ limits: { maxCalls: 10 }, spent: () => spent, clock });
    budget.take();
    spent = 6;
    expect([budget.operation(() => 5).take(), budget.operation(() => 4).take()]).toEqual([false, true]);
  });

  test("starts nothing when the time is up, but settles unknown outcomes", () => {
    vi.useFakeTimers({ now: 0 });
    const budget = new RunBudget({
      limits: { until: { at: 100, clock: "now" } },
      spent: () => 0,
      clock: systemClock,
    });
    const [unknown, waiting] = [budget.operation(), budget.operation()];
    expect([unknown.take(), waiting.take(), budget.reached]).toEqual([true, true, undefined]);
    unknown.settles();
    vi.advanceTimersByTime(100);
    expect([unknown.signal, waiting.signal?.aborted, unknown.take()]).toEqual([undefined, true, true]);
    expect([budget.take(), budget.reached, budget.isSpent]).toEqual([false, "until", true]);
  });

  test("does not end an operation between the calls that it needs", () => {
    vi.useFakeTimers({ now: 0 });
    const until = { at: 100, clock: "now" } as const;
    const budget = new RunBudget({ limits: { until }, spent: () => 0, clock: systemClock });
    const operation = budget.operation(() => 2);
    expect([operation.take(), operation.signal?.aborted]).toEqual([true, false]);
    vi.advanceTimersByTime(100);
    expect([operation.take(), operation.signal]).toEqual([true, undefined]);
    expect([operation.take(), operation.signal?.aborted]).toEqual([true, true]);
  });

  test("ends at the time that the clock shows, also when it is set back", () => {
    vi.useFakeTimers({ now: 0 });
    const until = { at: 100, clock: "now" } as const;
    const budget = new RunBudget({ limits: { until }, spent: () => 0, clock: systemClock });
    vi.advanceTimersByTime(50);
    vi.setSystemTime(0);
    vi.advanceTimersByTime(50);
    expect([budget.signal.aborted, budget.take()]).toEqual([false, true]);
    vi.advanceTimersByTime(50);
    expect(budget.signal.aborted).toBe(true);
  });

  test("ends after a duration, also when the time of day is set back", () => {
    vi.useFakeTimers({ now: 0 });
    const until = { at: systemClock.monotonic() + 100, clock: "monotonic" } as const;
    const budget = new RunBudget({ limits: { until }, spent: () => 0, clock: systemClock });
    vi.advanceTimersByTime(50);
    vi.setSystemTime(-3_600_000);
    expect([budget.signal.aborted, budget.take()]).toEqual([false, true]);
    vi.advanceTimersByTime(50);
    expect([budget.signal.aborted, budget.take(), budget.reached]).toEqual([true, false, "until"]);
  });

  test("starts an operation exactly when it fits in the limit", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.integer({ min: 1, max: 20 })),
        (maxCalls, sizes) => {
          const budget = new RunBudget({ limits: { maxCalls }, spent: () => 0, clock });
          let promised = 0;
          for (const size of sizes) {
            const starts = budget.operation(() => size).take();
            expect(starts).toBe(promised + size <= maxCalls);
            if (starts) promised += size;
          }
        },
      ),
    );
  });
});
