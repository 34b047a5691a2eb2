import type { LogEntry } from "../model/log.ts";
import {
  isSuccess,
  type Notice,
  type ReconcileResult,
  type ReconcileStatus,
} from "../model/reconcile-result.ts";
import { isoTime } from "../model/time.ts";
import { formatMilliseconds, plural } from "./quantities.ts";

const words: Readonly<Record<ReconcileStatus, string>> = {
  ok: "ok",
  excluded: "ok, with changes excluded by policy",
  deferred: "deferred to the next run",
  stalled: "stalled",
  standby: "standby",
  failing: "failing",
  in_doubt: "in doubt",
  refused: "refused",
  new_ledger: "waiting for confirmation of the new ledger",
  locked: "locked",
  interrupted: "interrupted",
};

/** What to do about a status; empty when there is nothing to do. */
const advice: Readonly<Record<ReconcileStatus, string>> = {
  ok: "",
  excluded:
    "`draftsync plan` shows the excluded changes; `draftsync apply` applies them (deletes of drafts that are no longer declared with --remove-drafts).",
  deferred: "",
  stalled: "The limit of calls or time is too low for the next change: raise `--max-calls` or `--until`.",
  standby: "",
  failing: "The output of this run has the error; `draftsync history` lists its API calls.",
  in_doubt:
    "The next run settles what it can. `draftsync plan` shows the rest, with the command that settles each; outcomes in a recovery log need `draftsync state recover`.",
  new_ledger:
    "Publishes and duplicates are excluded. If nothing of this workspace was published or duplicated before: `draftsync apply --new-ledger`. Otherwise record the products with `draftsync resolve`.",
  refused: "A safety check refused the plan or a publish of it; `draftsync plan` says which and what to do.",
  locked: "",
  interrupted: "",
};

/** A reconcile run as one log line with its end time: `2026-11-21T09:15:00Z ok: 3 done, 4 calls in 1.2 s; …`. */
export function formatReconcile(end: ReconcileResult, { nextAt }: { readonly nextAt?: number } = {}): string {
  const at = timeOf(end.startedAt + end.ms);
  const next = nextAt === undefined ? "" : `; next at ${timeOf(nextAt)}`;
  return `${at} ${words[end.status]}: ${factsOf(end).join(", ")} in ${formatMilliseconds(end.ms)}${next}`;
}

/** {@link formatReconcile} as a log entry. */
export function describeReconcile(end: ReconcileResult, next: { readonly nextAt?: number }): LogEntry {
  const { status, workspace, runId, totals, excluded, inDoubt, drift, refreshCalls, ms, code } = end;
  const text = `${formatReconcile(end, next)}\n`;
  const level =
    isSuccess(end) || status === "interrupted" ? "info" : status === "failing" ? "error" : "warning";
  const found = { excluded, in_doubt: inDoubt ?? totals?.in_doubt, drift, refresh_calls: refreshCalls };
  const facts = { workspace, run_id: runId, status, ...totals, ...found, ms };
  return { level, text, code: code ?? "reconcile-run", facts };
}

/** The body of a notification: `text` for chat systems, the rest for programs. */
export interface Notification {
  readonly text: string;
  readonly format_version: 1;
  readonly workspace: string;
  readonly status: ReconcileStatus;
  /** The reason of a failure: an error code, or `unreachable` for any outage. */
  readonly reason?: string | undefined;
  /** The status of the previous notification; absent the first time. */
  readonly former_status?: ReconcileStatus | undefined;
  readonly former_reason?: string | undefined;
  /** End of the run, ISO 8601, UTC. */
  readonly at: string;
  readonly totals?: Readonly<Record<string, number>> | undefined;
  readonly excluded?: Readonly<Record<string, number>> | undefined;
  readonly in_doubt?: number | undefined;
  /** Resources that changed outside draftsync. */
  readonly drift?: number | undefined;
  readonly code?: string | undefined;
}

/**
 * The notification of a run. It contains no text from manifests, the service or error messages, because chat systems act
 * on markup and mentions, and people other than the operators may read it.
 */
export function makeNotification(end: ReconcileResult, notice: Notice, former?: Notice): Notification {
  const { status, reason } = notice;
  const before = former?.reason === undefined ? "" : `: ${former.reason}`;
  const was = former === undefined ? "" : ` (was ${words[former.status]}${before})`;
  const hint = advice[status] === "" ? "" : ` ${advice[status]}`;
  const { workspace, totals, excluded, inDoubt, drift, code } = end;
  return {
    text: `draftsync: workspace ${workspace} is ${words[status]}${was}: ${factsOf(end).join(", ")}.${hint}`,
    format_version: 1,
    workspace,
    status,
    reason,
    former_status: former?.status,
    former_reason: former?.reason,
    at: isoTime(end.startedAt + end.ms),
    totals: totals && { ...totals },
    excluded,
    in_doubt: inDoubt,
    drift,
    code,
  };
}

/** What a run did, in a few words: `3 done`, `1 in doubt`, `12 calls`. */
export function factsOf(
  end: Pick<ReconcileResult, "totals" | "excluded" | "inDoubt" | "drift" | "refreshCalls" | "code">,
): readonly string[] {
  const { totals, excluded = {}, inDoubt = 0, drift = 0, refreshCalls = 0, code } = end;
  const held = Object.values(excluded).reduce((sum, count) => sum + count, 0);
  const { done = 0, failed = 0, skipped = 0, deferred = 0 } = totals ?? {};
  const calls = (totals?.calls ?? 0) + refreshCalls;
  const counts = [
    [drift, "drifted"],
    [done, "done"],
    [failed, "failed"],
    [inDoubt, "in doubt"],
    [skipped, "skipped"],
    [deferred, "deferred"],
    [held, "excluded"],
  ] as const;
  const facts = counts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []));
  if (code !== undefined) facts.push(code);
  if (facts.length === 0) facts.push("nothing to do");
  return calls > 0 ? [...facts, plural(calls, "call")] : facts;
}

/** To the second, as logs have it. */
function timeOf(at: number): string {
  return `${isoTime(at).slice(0, 19)}Z`;
}
