import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallClass, Evidence } from "../../../src/service/retry-policy.ts";
import { backoffMs, classify, RetryBudget } from "../../../src/service/retry-policy.ts";

const classes = ["read", "update", "detach", "attach", "register", "non_idempotent"] as const;

const status = (code: number, isServiceError = true): Evidence => ({
  type: "status",
  status: code,
  isServiceError,
});

/** `outcome`, then `+` when the call may be sent again, then what stops when it is not the operation alone. */
const table: readonly (readonly [
  string,
  Evidence,
  readonly [string, string, string, string, string, string],
])[] = [
  [
    "no connection",
    { type: "unreachable" },
    ["not_sent+", "not_sent+", "not_sent+", "not_sent+", "not_sent+", "not_sent+"],
  ],
  [
    "invalid certificate",
    { type: "certificate" },
    ["not_sent run", "not_sent run", "not_sent run", "not_sent run", "not_sent run", "not_sent run"],
  ],
  [
    "no complete answer",
    { type: "lost" },
    ["unknown+", "unknown+", "unknown+", "unknown", "unknown+", "unknown"],
  ],
  ["408", status(408), ["unknown+", "unknown+", "unknown+", "unknown", "unknown+", "unknown"]],
  ["500", status(500), ["unknown+", "unknown+", "unknown+", "unknown", "unknown+", "unknown"]],
  ["503", status(503), ["unknown+", "unknown+", "unknown+", "unknown", "unknown+", "unknown"]],
  ["599", status(599), ["unknown+", "unknown+", "unknown+", "unknown", "unknown+", "unknown"]],
  ["425", status(425), ["rejected+", "rejected+", "rejected+", "rejected", "rejected+", "rejected+"]],
  ["429", status(429), ["rejected+", "rejected+", "rejected+", "rejected", "rejected+", "rejected+"]],
  [
    "429, HTML",
    status(429, false),
    ["rejected+", "rejected+", "rejected+", "rejected", "rejected+", "unknown"],
  ],
  ["422", status(422), ["rejected", "rejected", "rejected", "rejected", "rejected", "rejected"]],
  ["422, HTML", status(422, false), ["rejected", "rejected", "rejected", "rejected", "rejected", "unknown"]],
  ["302", status(302), ["rejected", "unknown", "unknown", "unknown", "unknown", "unknown"]],
  ["402", status(402), ["rejected", "unknown", "unknown", "unknown", "unknown", "unknown"]],
  ["another", { type: "another" }, ["rejected", "unknown", "unknown", "unknown", "unknown+", "unknown"]],
  [
    "401",
    status(401),
    ["rejected run", "rejected run", "rejected run", "rejected run", "rejected run", "rejected run"],
  ],
  ["404", status(404), ["rejected", "rejected", "done", "rejected draft", "rejected", "rejected"]],
  ["410", status(410), ["rejected", "rejected", "done", "rejected draft", "rejected", "rejected"]],
  ["409", status(409), ["rejected", "unknown", "unknown", "unknown", "rejected", "unknown"]],
  [
    "malformed",
    { type: "malformed" },
    ["unknown+", "unknown+", "unknown+", "unknown", "unknown+", "unknown"],
  ],
  ["without an id", { type: "without_id" }, ["rejected", "done", "done", "unknown", "unknown+", "unknown"]],
  ["204", { type: "no_content" }, ["rejected", "done", "done", "done", "unknown+", "unknown"]],
  ["202", { type: "accepted" }, ["rejected", "unknown", "unknown", "unknown", "done", "unknown"]],
  [
    "202, no body",
    { type: "accepted_without_id" },
    ["rejected", "unknown", "unknown", "unknown", "unknown+", "unknown"],
  ],
  ["valid", { type: "valid" }, ["done", "done", "done", "done", "done", "done"]],
];

const cells = table.flatMap(([name, evidence, row]) =>
  classes.map((callClass, index) => ({ name, evidence, callClass, expected: row[index] ?? "" })),
);

describe("classify", () => {
  it.each(cells)("returns $expected for $name on $callClass", ({ evidence, callClass, expected }) => {
    const { outcome, retry, stops } = classify(callClass, evidence);
    expect(`${outcome}${retry ? "+" : ""}${stops === "operation" ? "" : ` ${stops}`}`).toBe(expected);
  });

  it("retries an irreversible call only when it was not sent or the service refused it", () => {
    const anyEvidence = fc.oneof(
      fc
        .tuple(fc.integer({ min: 300, max: 999 }), fc.boolean())
        .map(([code, jsonApi]) => status(code, jsonApi)),
      fc.constantFrom(...table.map(([, evidence]) => evidence)),
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
