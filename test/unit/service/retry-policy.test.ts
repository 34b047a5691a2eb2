import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallClass, Evidence } from "../../../src/service/retry-policy.ts";
import { backoffMs, classify, RetryBudget } from "../../../src/service/retry-policy.ts";

const status = (code: number, isServiceError = true): Evidence => ({
  type: "status",
  status: code,
  isServiceError,
});

const otherEvidence: readonly Evidence[] = (
  [
    "unreachable",
    "certificate",
    "lost",
    "another",
    "malformed",
    "without_id",
    "no_content",
    "accepted",
    "accepted_without_id",
    "valid",
  ] as const
).map((type) => ({ type }));

describe("classify", () => {
  it("retries an irreversible call only when it was not sent or the service refused it", () => {
    const anyEvidence = fc.oneof(
      fc
        .tuple(fc.integer({ min: 300, max: 999 }), fc.boolean())
        .map(([code, jsonApi]) => status(code, jsonApi)),
      fc.constantFrom(...otherEvidence),
    );
    fc.assert(
      fc.property(
        anyEvidence,
        fc.constantFrom<CallClass>("non_idempotent", "attach"),
        (evidence, callClass) => {
          const verdict = classify(callClass, evidence);
          const isRefused =
            evidence.type === "status" && evidence.isServiceError && [425, 429].includes(evidence.status);
          const mayRepeat = verdict.outcome === "not_sent" || (callClass === "non_idempotent" && isRefused);
          expect(verdict.retry).toBe(verdict.retry && mayRepeat);
          if (callClass === "non_idempotent" && verdict.outcome === "rejected") {
            expect(evidence).toMatchObject({ type: "status", isServiceError: true });
          }
        },
      ),
    );
  });
});

describe("RetryBudget", () => {
  it("allows ten retries, plus one for every ten calls", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 500 }), (steps) => {
        const budget = new RetryBudget();
        let calls = 0;
        let retries = 0;
        for (const isCall of steps) {
          if (isCall) {
            budget.countCall();
            calls += 1;
          } else if (budget.take()) retries += 1;
          else expect(retries).toBe(10 + Math.floor(calls / 10));
          expect(retries).toBeLessThanOrEqual(10 + calls / 10);
        }
      }),
    );
  });
});

describe("backoffMs", () => {
  it.each([
    [1, 0, 0],
    [1, 0.999999, 499],
    [2, 0.5, 500],
    [2, 0.999999, 999],
    [40, 0.999999, 9999],
  ])("returns, after attempt %i and with a random %f, %i ms", (attempt, random, ms) => {
    expect(backoffMs(attempt, () => random)).toBe(ms);
  });
});
