import { isoTime } from "../model/time.ts";
import { factsOf } from "../report/reconcile-text.ts";
import { type FleetStatus, fleetStatuses, fleetStatusOf, type RunStatus } from "./fleet-status.ts";
import type { EndedRun, FleetRows, FleetRun, FleetWorker, FleetWorkspace, RunError } from "./fleet-store.ts";

/** A workspace as `fleet status --format json` shows it. Times are ISO 8601, UTC. */
export interface WorkspaceView {
  readonly name: string;
  readonly status: FleetStatus;
  readonly config: string;
  readonly every_ms: number;
  readonly key?: string;
  /** Whether a run is under way, and where. */
  readonly running_on?: string;
  readonly last_run?: RunView;
  readonly last_success_at?: string;
  readonly failures: number;
  readonly in_doubt: number;
  /** Absent for one that is paused. */
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
  /** What it did, in a few words. */
  readonly summary: string;
  readonly error?: RunError;
  /** Of the manifests. */
  readonly commit?: string;
  /** In the history of the workspace's ledger; absent when it recorded none. */
  readonly run_id?: string;
}

/** The workspaces of a fleet at a time. */
export interface FleetView {
  readonly at: string;
  readonly counts: Readonly<Partial<Record<FleetStatus, number>>>;
  readonly workspaces: readonly WorkspaceView[];
  /** Those that were seen within half a minute. */
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

/** Views a workspace, of which `run` is the last run. */
export function viewWorkspace(
  row: FleetWorkspace,
  { now, run }: { readonly now: number; readonly run: FleetRun | undefined },
): WorkspaceView {
  const { paused, since, last_status, last_success_at, started_at, ended_at, worker } = row;
  const status = fleetStatusOf(
    {
      paused,
      everyMs: row.every_ms,
      since,
      lastStatus: last_status ?? undefined,
      lastSuccessAt: last_success_at ?? undefined,
    },
    now,
  );
  const isRunning = started_at !== null && (ended_at === null || ended_at < started_at);
  const isWanted = row.wanted_at !== null && row.wanted_at > (started_at ?? 0);
  const dueAt = Math.min(row.due_at, isWanted ? (row.wanted_at ?? 0) : Number.POSITIVE_INFINITY);
  return {
    name: row.name,
    status,
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
export function viewRun({ status, started_at, ended_at, worker, result, error, commit }: FleetRun): RunView {
  const runId = result?.type === "reconcile_finished" ? result.run_id : undefined;
  return {
    status,
    started_at: isoTime(started_at),
    ended_at: isoTime(ended_at),
    worker,
    summary: summaryOf({ result, error }),
    ...(error === null ? {} : { error }),
    ...(commit === null ? {} : { commit }),
    ...(runId === undefined ? {} : { run_id: runId }),
  };
}

/** What a run did, in a few words; of one without a result, what kept it from one. */
export function summaryOf({ result, error }: Pick<EndedRun, "result" | "error">): string {
  if (result?.type !== "reconcile_finished") return error?.code ?? "no result";
  const { in_doubt: inDoubt, refresh_calls: refreshCalls, totals, excluded, drift, code } = result;
  const given = { inDoubt, refreshCalls, totals, excluded, drift, code };
  const facts = factsOf(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
  return facts.join(", ");
}
