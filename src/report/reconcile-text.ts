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
  excluded: "held back by policy",
  deferred: "left for the next round",
  stalled: "stalled",
  standby: "standby",
  failing: "failing",
  in_doubt: "in doubt",
  refused: "refused",
  new_ledger: "waiting for a person to confirm the new ledger",
  locked: "locked",
  interrupted: "interrupted",
};

/** What to do about a status; empty when there is nothing to do. */
const advice: Readonly<Record<ReconcileStatus, string>> = {
  ok: "",
  excluded: "`draftsync plan` shows what is held back, `draftsync apply` carries it out.",
  deferred: "",
  stalled: "The limit of calls or time is too low for the next change: raise `--max-calls` or `--until`.",
  standby: "",
  failing: "The output of the round says why; `draftsync history` shows what was sent.",
  in_doubt:
    "`draftsync plan` shows it with a ?; settle it with `draftsync resolve` or `draftsync state recover`.",
  new_ledger:
    "Publishes and duplicates are left out. If nothing was published before: `draftsync apply --new-ledger`; else record it with `draftsync resolve`.",
  refused: "A safety limit refused the plan: `draftsync plan` shows it, and which limit.",
  locked: "",
  interrupted: "",
};

/** A round as one line of a log, with the moment of its end: `2026-11-21T09:15:00Z ok: 3 done, 4 calls in 1.2 s; …`. */
export function formatReconcile(end: ReconcileResult, { nextAt }: { readonly nextAt?: number } = {}): string {
  const at = timeOf(end.startedAt + end.ms);
  const next = nextAt === undefined ? "" : `; next at ${timeOf(nextAt)}`;
  return `${at} ${words[end.status]}: ${factsOf(end).join(", ")} in ${formatMilliseconds(end.ms)}${next}`;
}

/** {@link formatReconcile} as an entry of a log. What needs nobody is no result. */
export function describeReconcile(end: ReconcileResult, next: { readonly nextAt?: number }): LogEntry {
  const { status, workspace, runId, totals, excluded, inDoubt, drift, refreshCalls, ms, code } = end;
  const text = `${formatReconcile(end, next)}\n`;
  const level =
    isSuccess(end) || status === "interrupted" ? "info" : status === "failing" ? "error" : "warning";
  const facts = {
    ...totals,
    excluded: excluded,
    in_doubt: inDoubt ?? totals?.in_doubt,
    drift,
    look_calls: refreshCalls,
  };
  const given = Object.entries(facts).filter(([, value]) => value !== undefined);
  return {
    level,
    text,
    code: code ?? "round",
    facts: { workspace, run_id: runId, status, ...Object.fromEntries(given), ms },
  };
}

/** The body of a notification: `text` for chat systems, the rest for programs. */
export interface Notification {
  readonly text: string;
  readonly format_version: 1;
  readonly workspace: string;
  readonly status: ReconcileStatus;
  /** Why it fails: a code, or `unreachable` for an outage of any kind. */
  readonly reason?: string;
  /** What people knew before; absent the first time. */
  readonly former_status?: ReconcileStatus;
  readonly former_reason?: string;
  /** When the round ended, ISO 8601, UTC. */
  readonly at: string;
  readonly totals?: Readonly<Record<string, number>>;
  readonly excluded?: Readonly<Record<string, number>>;
  readonly in_doubt?: number;
  /** Things that were seen to be otherwise than recorded. */
  readonly drift?: number;
  readonly code?: string;
}

/**
 * What people are told of a round. Nothing in it comes from manifests, the service or an error's message: chat systems act
 * on mark-up and mentions, and others than the operators may read along.
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
    ...(reason === undefined ? {} : { reason }),
    ...(former === undefined ? {} : { former_status: former.status }),
    ...(former?.reason === undefined ? {} : { former_reason: former.reason }),
    at: isoTime(end.startedAt + end.ms),
    ...(totals === undefined ? {} : { totals: { ...totals } }),
    ...(excluded === undefined ? {} : { excluded: excluded }),
    ...(inDoubt === undefined ? {} : { in_doubt: inDoubt }),
    ...(drift === undefined ? {} : { drift }),
    ...(code === undefined ? {} : { code }),
  };
}

function factsOf(end: ReconcileResult): readonly string[] {
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
