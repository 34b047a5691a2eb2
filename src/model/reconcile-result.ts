import { type Event, eventFormatVersion, type RunTotals } from "./event.ts";

/**
 * The status of a `reconcile` run.
 *
 * | status | meaning |
 * |---|---|
 * | ok | everything is as desired |
 * | excluded | every change that the policy allows is applied |
 * | deferred | it stopped at its limit of calls or time; the next run continues |
 * | stalled | it stopped at its limit before any change: so will the next run |
 * | standby | another replica has just reconciled the workspace, and nothing is left to do |
 * | failing | an operation failed, or the run could not start |
 * | in_doubt | an operation is in doubt or waits in the recovery log: an operator must act |
 * | refused | a safety limit refused the plan: a person must act |
 * | new_ledger | publishes and duplicates are excluded: a person must confirm the ledger |
 * | locked | another process held the lock for longer than the run waits |
 * | interrupted | the process received a signal to end |
 */
export const reconcileStatuses = [
  "ok",
  "excluded",
  "deferred",
  "stalled",
  "standby",
  "failing",
  "in_doubt",
  "refused",
  "new_ledger",
  "locked",
  "interrupted",
] as const;

/** One of {@link reconcileStatuses}. */
export type ReconcileStatus = (typeof reconcileStatuses)[number];

/** The result of a run. It holds no text from manifests or the service. */
export interface ReconcileResult {
  readonly status: ReconcileStatus;
  readonly workspace: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** How long it took, the wait for the lock included, milliseconds. */
  readonly ms: number;
  /** Of its run; absent when nothing was begun. */
  readonly totals?: RunTotals;
  /** Excluded changes by the action the policy would have to allow. */
  readonly excluded?: Readonly<Record<string, number>>;
  /** Changes in doubt at its end; absent when that is not known. */
  readonly inDoubt?: number;
  /** Resources that changed outside draftsync; absent without a refresh. */
  readonly drift?: number;
  /** Requests of the refresh; they are not in `totals`. */
  readonly refreshCalls?: number;
  /** Of the error that ended it; stable, kebab-case. */
  readonly code?: string;
  /** Its run in the ledger's history; absent when none was recorded. */
  readonly runId?: string;
}

/** Whether a run did all its work: the service and the ledger work, and no person has to act. */
export function isSuccess({ status }: Pick<ReconcileResult, "status">): boolean {
  return status === "ok" || status === "excluded" || status === "deferred" || status === "standby";
}

/** The result as the last event of its run. */
export function reconcileFinished(end: ReconcileResult): Event {
  const { status, workspace, startedAt, ms, totals, excluded, inDoubt, drift, refreshCalls, code, runId } =
    end;
  return {
    type: "reconcile_finished",
    format_version: eventFormatVersion,
    at: startedAt + ms,
    workspace,
    status,
    ms,
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(totals === undefined ? {} : { totals }),
    ...(excluded === undefined ? {} : { excluded }),
    ...(inDoubt === undefined ? {} : { in_doubt: inDoubt }),
    ...(drift === undefined ? {} : { drift }),
    ...(refreshCalls === undefined ? {} : { refresh_calls: refreshCalls }),
    ...(code === undefined ? {} : { code }),
  };
}

/** What operators know of a workspace: the status of its last reconcile run and, of a failing one, the reason. */
export interface Notice {
  readonly status: ReconcileStatus;
  /** Stable, kebab-case; absent when single operations failed. */
  readonly reason?: string;
}

/** Outages alternate between these codes; they are one reason, so that it is reported once. */
const unreachableCodes: ReadonlySet<string> = new Set([
  "connection-refused",
  "name-not-found",
  "connect-timeout",
  "unreachable",
  "timeout",
  "connection-reset",
  "aborted-in-flight",
  "not-http",
  "server-error",
  "empty-response",
]);

/**
 * The notice of a run for operators; `undefined` when the run shows nothing about the workspace. `deferred` counts as `ok`,
 * since the next run continues.
 */
export function noticeOf({ status, code }: Pick<ReconcileResult, "status" | "code">): Notice | undefined {
  if (status === "locked" || status === "interrupted" || status === "standby") return undefined;
  if (status === "deferred") return { status: "ok" };
  // Also next to a doubt: a rejected key or an outage is news.
  if ((status !== "failing" && status !== "in_doubt") || code === undefined) return { status };
  return { status, reason: unreachableCodes.has(code) ? "unreachable" : code };
}

/** A notice as the ledger stores it: `failing unauthorized`. */
export function formatNotice({ status, reason }: Notice): string {
  return reason === undefined ? status : `${status} ${reason}`;
}

/** Reads {@link formatNotice}; `undefined` for anything else. */
export function parseNotice(text: string | undefined): Notice | undefined {
  const [word, reason] = (text ?? "").split(" ");
  const status = reconcileStatuses.find((each) => each === word);
  if (status === undefined) return undefined;
  return reason === undefined ? { status } : { status, reason };
}
