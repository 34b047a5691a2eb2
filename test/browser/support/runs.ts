import { isoTime } from "../../../src/model/time.ts";
import type { HistoryOperation, HistoryRun } from "../../../src/report/history-view.ts";

const start = Date.UTC(2026, 10, 21, 6, 53, 10);

/** A call that started `at` milliseconds after the run and took `ms`. */
export function makeCall(at: number, ms: number, parts: Partial<HistoryOperation> = {}): HistoryOperation {
  return {
    operation_id: `operation-${at}`,
    address: `drafts/1/product_files/${at}`,
    kind: "attach",
    method: "POST",
    path: "/api/drafts/1/product_files",
    started_at: isoTime(start + at),
    finished_at: isoTime(start + at + ms),
    outcome: "done",
    status: 201,
    attempts: 1,
    ...parts,
  };
}

/** A run of twelve calls in two seconds, with every outcome. `parts` override its fields. */
export function makeRun(parts: Partial<HistoryRun> = {}): HistoryRun {
  return {
    run_id: "run-1",
    command: "apply",
    plan_id: "plan-1",
    started_at: isoTime(start),
    finished_at: isoTime(start + 2_000),
    status: "failed",
    totals: { done: 9, calls: 21 },
    operations: [
      ...Array.from({ length: 9 }, (_none, at) => makeCall(at * 100, 40 + at * 10)),
      makeCall(1_200, 90, {
        kind: "update",
        method: "PATCH",
        outcome: "rejected",
        status: 422,
        failure: { code: "refused", message: "No such renderer." },
      }),
      makeCall(1_300, 60, { kind: "detach", method: "DELETE", outcome: "not_sent" }),
      makeCall(1_400, 500, {
        kind: "publish",
        path: "/api/products",
        address: "drafts/2/product",
        outcome: "unknown",
      }),
    ],
    ...parts,
  };
}
