import { describe, expect, test } from "vitest";
import {
  formatNotice,
  noticeOf,
  parseNotice,
  type ReconcileResult,
  reconcileStatuses,
} from "../../../src/model/reconcile-result.ts";
import { describeReconcile, formatReconcile, makeNotification } from "../../../src/report/reconcile-text.ts";

const startedAt = Date.UTC(2026, 10, 21, 9, 15, 0);
const end = (parts: Partial<ReconcileResult>): ReconcileResult => ({
  status: "ok",
  workspace: "studio-a",
  startedAt,
  ms: 1_200,
  ...parts,
});
const totals = { done: 3, failed: 1, in_doubt: 1, skipped: 2, deferred: 0, calls: 1_205 };

describe("line of a reconcile run", () => {
  test.each([
    [{}, "2026-11-21T09:15:01Z ok: nothing to do in 1.2 s"],
    [
      { totals: { ...totals, done: 1, failed: 0, skipped: 0, calls: 1 } },
      "2026-11-21T09:15:01Z ok: 1 done, 1 call in 1.2 s",
    ],
    [
      { status: "in_doubt", totals, inDoubt: 2, excluded: { delete: 2, publish: 1 } },
      "2026-11-21T09:15:01Z in doubt: 3 done, 1 failed, 2 in doubt, 2 skipped, 3 excluded, 1,205 calls in 1.2 s",
    ],
    [
      { status: "failing", code: "invalid-input", ms: 5 },
      "2026-11-21T09:15:00Z failing: invalid-input in 5 ms",
    ],
    [
      { status: "deferred", totals: { ...totals, failed: 0, skipped: 0, deferred: 7 } },
      "2026-11-21T09:15:01Z deferred to the next run: 3 done, 7 deferred, 1,205 calls in 1.2 s",
    ],
  ] as const)("formats %j", (parts, line) => {
    expect(formatReconcile(end(parts))).toBe(line);
  });

  test("names the start of the next run", () => {
    expect(formatReconcile(end({}), { nextAt: startedAt + 900_000 })).toMatch(
      /; next at 2026-11-21T09:30:00Z$/,
    );
  });
});

describe("log entry of a reconcile run", () => {
  test("has status, counts and code as details", () => {
    const run = end({ status: "failing", totals, excluded: { delete: 2 }, code: "lock-lost" });
    const entry = describeReconcile(run, {});
    expect(entry).toEqual({
      level: "error",
      text: `${formatReconcile(run)}\n`,
      code: "lock-lost",
      facts: { workspace: "studio-a", status: "failing", ...totals, excluded: { delete: 2 }, ms: 1_200 },
    });
  });

  test.each([
    ["ok", "info"],
    ["excluded", "info"],
    ["deferred", "info"],
    ["interrupted", "info"],
    ["locked", "warning"],
    ["in_doubt", "warning"],
    ["refused", "warning"],
    ["failing", "error"],
  ] as const)("has for the status %s the level %s", (status, level) => {
    expect(describeReconcile(end({ status }), {})).toMatchObject({ level, code: "reconcile-run" });
  });
});

describe("a notification", () => {
  test("has a text for chat systems and details for programs", () => {
    const run = end({ status: "in_doubt", totals, inDoubt: 1, excluded: { delete: 2 } });
    expect(makeNotification(run, { status: "in_doubt" }, { status: "ok" })).toEqual({
      text:
        "draftsync: workspace studio-a is in doubt (was ok): 3 done, 1 failed, 1 in doubt, 2 skipped, 2 excluded, 1,205 calls. " +
        "The next run settles what it can. `draftsync plan` shows the rest, with the command that settles each; outcomes in a recovery log need `draftsync state recover`.",
      format_version: 1,
      workspace: "studio-a",
      status: "in_doubt",
      former_status: "ok",
      at: "2026-11-21T09:15:01.200Z",
      totals,
      excluded: { delete: 2 },
      in_doubt: 1,
    });
  });

  test("omits the previous status for the first failure", () => {
    const run = end({ status: "failing", code: "ledger-unreadable" });
    const notification = makeNotification(run, { status: "failing", reason: "ledger-unreadable" });
    expect(notification).toMatchObject({
      status: "failing",
      code: "ledger-unreadable",
      reason: "ledger-unreadable",
    });
    expect(notification.text).toMatch(/^draftsync: workspace studio-a is failing: ledger-unreadable\. /);
    expect(notification.former_status).toBeUndefined();
  });

  test("names both reasons when the reason changes", () => {
    const run = end({ status: "failing", code: "unauthorized" });
    const former = { status: "failing", reason: "unreachable" } as const;
    expect(makeNotification(run, { status: "failing", reason: "unauthorized" }, former)).toMatchObject({
      text: expect.stringContaining("is failing (was failing: unreachable): unauthorized"),
      former_reason: "unreachable",
      reason: "unauthorized",
    });
  });

  test("is not sent for runs that do not show the state of the workspace", () => {
    expect(reconcileStatuses.map((status) => noticeOf({ status })?.status)).toEqual([
      "ok",
      "excluded",
      "ok",
      "stalled",
      undefined,
      "failing",
      "in_doubt",
      "refused",
      "new_ledger",
      undefined,
      undefined,
    ]);
  });

  test.each([
    ["unauthorized", "unauthorized"],
    ["connection-refused", "unreachable"],
    ["server-error", "unreachable"],
    ["invalid-input", "invalid-input"],
  ])(
    "has for the code %s the reason %s, also next to a doubt, which the ledger preserves",
    (code, reason) => {
      for (const status of ["failing", "in_doubt"] as const) {
        const notice = noticeOf({ status, code });
        expect(notice).toEqual({ status, reason });
        expect(notice && parseNotice(formatNotice(notice))).toEqual(notice);
      }
    },
  );
});
