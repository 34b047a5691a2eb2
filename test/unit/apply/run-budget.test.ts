import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { RunBudget } from "../../../src/apply/run-budget.ts";

afterEach(() => void vi.useRealTimers());

describe("RunBudget", () => {
  test("starts operations that fit exactly, also after one that does not fit", () => {
    const budget = new RunBudget({ limits: { maxCalls: 10 }, spent: () => 0, now: () => 0 });
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
      shortfall: { needed: 1, left: 0 },
    });
  });

  test("counts every further call of an operation without refusing one", () => {
    const budget = new RunBudget({ limits: { maxCalls: 3 }, spent: () => 0, now: () => 0 });
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
    const budget = new RunBudget({ limits: { maxCalls: 10 }, spent: () => spent, now: () => 0 });
    budget.take();
    spent = 6;
    expect([budget.operation(() => 5).take(), budget.operation(() => 4).take()]).toEqual([false, true]);
  });

  test("starts nothing when the time is up, but settles unknown outcomes", () => {
    vi.useFakeTimers({ now: 0 });
    const budget = new RunBudget({ limits: { until: 100 }, spent: () => 0, now: () => Date.now() });
    const [unknown, waiting] = [budget.operation(), budget.operation()];
    expect([unknown.take(), waiting.take(), budget.reached]).toEqual([true, true, undefined]);
    unknown.settles();
    vi.advanceTimersByTime(100);
    expect([unknown.signal, waiting.signal?.aborted, unknown.take()]).toEqual([undefined, true, true]);
    expect([budget.take(), budget.reached, budget.isSpent]).toEqual([false, "until", true]);
  });

  test("ends at the time that the clock shows, also when it is set back", () => {
    vi.useFakeTimers({ now: 0 });
    const budget = new RunBudget({ limits: { until: 100 }, spent: () => 0, now: () => Date.now() });
    vi.advanceTimersByTime(50);
    vi.setSystemTime(0);
    vi.advanceTimersByTime(50);
    expect([budget.signal.aborted, budget.take()]).toEqual([false, true]);
    vi.advanceTimersByTime(50);
    expect(budget.signal.aborted).toBe(true);
  });

  test("starts an operation exactly when it fits in the limit", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.integer({ min: 1, max: 20 })),
        (maxCalls, sizes) => {
          const budget = new RunBudget({ limits: { maxCalls }, spent: () => 0, now: () => 0 });
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
