import { isSuccess, type ReconcileStatus } from "../model/reconcile-result.ts";
import { isoTime } from "../model/time.ts";
import { factsOf } from "../report/reconcile-text.ts";
import type { EndedRun, FleetRows, FleetRun, FleetWorker, FleetWorkspace, RunError } from "./fleet-store.ts";

/**
 * The status of a workspace, the worst first.
 *
 * | status | meaning |
 * |---|---|
 * | in_doubt | a call of its last run is in doubt: an operator may have to settle it |
 * | failing | its last run failed, or waits for an operator |
 * | behind | no run succeeded for twice its interval |
 * | never_run | no run has ended yet |
 * | ok | its last run succeeded |
 * | paused | it does not run until it is resumed |
 */
export const fleetStatuses = ["in_doubt", "failing", "behind", "never_run", "ok", "paused"] as const;

/** One of {@link fleetStatuses}. */
export type FleetStatus = (typeof fleetStatuses)[number];

/** How a run of a workspace ended; `crashed`: its process ended without a result. */
export type RunStatus = ReconcileStatus | "crashed";

/** Whether a run counts as a failure: a run that was interrupted, or found its lock held, does not. */
export function isBad(status: RunStatus): boolean {
  return !isDone(status) && status !== "locked" && status !== "interrupted";
}

/** Whether a run counts as a success. */
export function isDone(status: RunStatus): boolean {
  return status !== "crashed" && isSuccess({ status });
}

function fleetStatusOf(
  { paused, every_ms, since, last_status, last_success_at }: FleetWorkspace,
  now: number,
): FleetStatus {
  if (paused) return "paused";
  if (last_status === "in_doubt") return "in_doubt";
  if (last_status !== null && isBad(last_status)) return "failing";
  if (now - Math.max(last_success_at ?? 0, since) > 2 * every_ms) return "behind";
  return last_status === null ? "never_run" : "ok";
}

/** A workspace as `fleet status --format json` shows it. Times are ISO 8601, UTC. */
export interface WorkspaceView {
  readonly name: string;
  readonly status: FleetStatus;
  readonly config: string;
  readonly every_ms: number;
  readonly key?: string;
  /** The worker of the current run. */
  readonly running_on?: string;
  readonly last_run?: RunView;
  readonly last_success_at?: string;
  readonly failures: number;
  readonly in_doubt: number;
  /** Absent for a paused workspace. */
  readonly due_at?: string;
  /** How long it has been due without a run, milliseconds. */
  readonly late_ms?: number;
}

/** A run as the status shows it. */
export interface RunView {
  readonly status: RunStatus;
  readonly started_at: string;
  readonly ended_at: string;
  readonly worker: string;
  /** `3 done, 3 calls` */
  readonly summary: string;
  readonly error?: RunError;
  /** Of the manifests. */
  readonly commit?: string;
  /** In the history of the workspace's ledger; absent when none was recorded. */
  readonly run_id?: string;
}

/** The workspaces of a fleet at a time. */
export interface FleetView {
  readonly at: string;
  readonly counts: Readonly<Partial<Record<FleetStatus, number>>>;
  readonly workspaces: readonly WorkspaceView[];
  /** Those that are running. */
  readonly workers: readonly FleetWorker[];
}

/** Views the table; the worst status first, then by name. */
export function viewFleet(
  { now, workspaces, workers }: FleetRows,
  runs: ReadonlyMap<string, FleetRun>,
): FleetView {
  const views = workspaces.map((each) => viewWorkspace(each, { now, run: runs.get(each.name) }));
  const rank = ({ status }: WorkspaceView) => fleetStatuses.indexOf(status);
  const counts: Partial<Record<FleetStatus, number>> = {};
  for (const { status } of views) counts[status] = (counts[status] ?? 0) + 1;
  return { at: isoTime(now), counts, workspaces: views.sort((a, b) => rank(a) - rank(b)), workers };
}

/** Views a workspace with its last run. */
export function viewWorkspace(
  row: FleetWorkspace,
  { now, run }: { readonly now: number; readonly run: FleetRun | undefined },
): WorkspaceView {
  const { paused, last_success_at, started_at, ended_at, wanted_at, worker } = row;
  const isRunning = started_at !== null && (ended_at === null || ended_at < started_at);
  const isWanted = wanted_at !== null && wanted_at > (started_at ?? 0);
  const dueAt = isWanted ? Math.min(row.due_at, wanted_at) : row.due_at;
  return {
    name: row.name,
    status: fleetStatusOf(row, now),
    config: row.config,
    every_ms: row.every_ms,
    ...(row.key === null ? {} : { key: row.key }),
    ...(isRunning && worker !== null ? { running_on: worker } : {}),
    ...(run === undefined ? {} : { last_run: viewRun(run) }),
    ...(last_success_at === null ? {} : { last_success_at: isoTime(last_success_at) }),
    failures: row.failures,
    in_doubt: row.in_doubt,
    ...(paused ? {} : { due_at: isoTime(dueAt) }),
    ...(paused || isRunning || dueAt >= now ? {} : { late_ms: now - dueAt }),
  };
}

/** Views a run. */
export function viewRun(run: FleetRun): RunView {
  const { status, started_at, ended_at, worker, result, error, commit } = run;
  const runId = result?.type === "reconcile_finished" ? result.run_id : undefined;
  return {
    status,
    started_at: isoTime(started_at),
    ended_at: isoTime(ended_at),
    worker,
    summary: summaryOf(run),
    ...(error === null ? {} : { error }),
    ...(commit === null ? {} : { commit }),
    ...(runId === undefined ? {} : { run_id: runId }),
  };
}

/** What a run did, in a few words; without a result, the code of its error. */
export function summaryOf({ result, error }: Pick<EndedRun, "result" | "error">): string {
  if (result?.type !== "reconcile_finished") return error?.code ?? "no result";
  const { in_doubt: inDoubt, refresh_calls: refreshCalls, totals, excluded, drift, code } = result;
  const given = Object.entries({ inDoubt, refreshCalls, totals, excluded, drift, code });
  return factsOf(Object.fromEntries(given.filter(([, value]) => value !== undefined))).join(", ");
}
