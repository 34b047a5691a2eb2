import fc from "fast-check";
import { expect, test } from "vitest";
import { RunBudget } from "../../../src/apply/run-budget.ts";
import type { Change } from "../../../src/model/change.ts";

/** A draft with so many changes of one call each. */
const draft = (calls: number) => Array.from({ length: calls }, () => ({}) as Change);
const callsOf = (changes: readonly Change[]) => changes.length;

test("without limits everything may begin", () => {
  const budget = new RunBudget({ limits: undefined, spent: () => 1_000, now: () => 0 });
  expect([budget.admit(draft(100)), budget.reached]).toEqual([true, undefined]);
});

test("what fits exactly may begin, and what is smaller after something that did not fit", () => {
  const budget = new RunBudget({ limits: { maxCalls: 10, callsOf }, spent: () => 0, now: () => 0 });
  expect([4, 7, 6, 1].map((calls) => budget.admit(draft(calls)))).toEqual([true, false, true, false]);
  expect(budget.reached).toBe("max_calls");
});

test("calls that were needed beyond the fewest count", () => {
  let spent = 0;
  const budget = new RunBudget({ limits: { maxCalls: 10, callsOf }, spent: () => spent, now: () => 0 });
  budget.admit(draft(2));
  spent = 6;
  expect([budget.admit(draft(5)), budget.admit(draft(4))]).toEqual([false, true]);
});

test("nothing begins from the given time on", () => {
  let now = 99;
  const budget = new RunBudget({ limits: { until: 100, callsOf }, spent: () => 0, now: () => now });
  expect([budget.admit(draft(1)), budget.reached]).toEqual([true, undefined]);
  now = 100;
  expect([budget.admit(draft(1)), budget.reached]).toEqual([false, "until"]);
});

test("whatever comes in whatever order, no more is promised than allowed, and nothing that fits is refused", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.integer({ min: 0, max: 20 })),
      (maxCalls, drafts) => {
        const budget = new RunBudget({ limits: { maxCalls, callsOf }, spent: () => 0, now: () => 0 });
        let promised = 0;
        for (const calls of drafts) {
          const admitted = budget.admit(draft(calls));
          expect(admitted).toBe(promised + calls <= maxCalls);
          if (admitted) promised += calls;
        }
      },
    ),
  );
});
