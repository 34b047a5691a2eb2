import { expect, test } from "vitest";
import type { HistoryOperation } from "../../../../src/report/history-view.ts";
import { formatRunEnding } from "../../../../src/report/html/history-page.ts";

const rejected = (draft: number): HistoryOperation => ({
  operation_id: `o${draft}`,
  address: `drafts/${draft}/product_files/1`,
  kind: "attach",
  method: "POST",
  path: `/api/drafts/${draft}/product_files`,
  started_at: "2026-11-22T10:00:00.000Z",
  finished_at: "2026-11-22T10:00:01.000Z",
  outcome: "rejected",
  status: 401,
  failure: {
    code: "unauthorized",
    message: `POST /api/drafts/${draft}/product_files: the service does not accept the key (401)`,
  },
});

test("shows each cause of failure once on the page of a run, with its number of calls", () => {
  const operations = Array.from({ length: 300 }, (_none, at) => rejected(at + 1));
  const run = {
    run_id: "r",
    command: "apply",
    started_at: "2026-11-22T10:00:00.000Z",
    finished_at: "2026-11-22T10:01:00.000Z",
    status: "stopped",
    totals: { done: 0, failed: 300 },
    operations,
  };
  const page = formatRunEnding(run).toString();
  expect(page.match(/does not accept the key/g)).toHaveLength(1);
  expect(page).toContain("300 calls failed: <code>drafts/1/product_files/1</code>");
  expect(page).toContain("and 295 more");
  expect(formatRunEnding({ ...run, operations: [] }).toString()).not.toContain("Causes");
});
