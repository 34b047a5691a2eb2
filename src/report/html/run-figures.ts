import { compareText } from "../../model/address.ts";
import { append } from "../../model/append.ts";
import { operationKinds } from "../../model/recorded.ts";
import type { HistoryOperation, HistoryRun } from "../history-view.ts";
import { routeOf } from "../log-line.ts";

/** The most calls that were begun within any window that ends in a stretch of a run. */
export interface WindowPeak {
  /** Beginning and end of the stretch, milliseconds since the run began. */
  readonly from: number;
  readonly to: number;
  readonly calls: number;
}

/**
 * How many calls of the journal were begun within one window of `windowMs`, over a run that began at `start` (epoch
 * milliseconds), in `stretches` equal parts of `ms`. Pure.
 */
export function findPeaks(
  operations: readonly HistoryOperation[],
  { start, ms, windowMs, stretches }: { start: number; ms: number; windowMs: number; stretches: number },
): readonly WindowPeak[] {
  const begins = operations.map(({ started_at }) => Date.parse(started_at) - start).sort((a, b) => a - b);
  const width = ms / stretches;
  const peaks = Array.from({ length: stretches }, (_none, at) => {
    // What was begun shortly before a stretch still counts at its beginning.
    const from = at * width;
    return begins.filter((begin) => begin > from - windowMs && begin <= from).length;
  });
  let first = 0;
  for (const [at, begin] of begins.entries()) {
    while ((begins[first] ?? begin) <= begin - windowMs) first += 1;
    const stretch = Math.min(stretches - 1, Math.max(0, Math.floor(begin / width)));
    peaks[stretch] = Math.max(peaks[stretch] ?? 0, at - first + 1);
  }
  return peaks.map((calls, at) => ({ from: at * width, to: (at + 1) * width, calls }));
}

/** How long the calls of one endpoint took, milliseconds, retries and waits between them included. */
export interface Latencies {
  /** `POST /api/drafts/:draft_id/product_files` */
  readonly endpoint: string;
  /** In rising order. */
  readonly all: readonly number[];
}

/** Latencies by endpoint; of calls that have ended. Pure. */
export function findLatencies(operations: readonly HistoryOperation[]): readonly Latencies[] {
  const byEndpoint = new Map<string, number[]>();
  for (const { method, path, started_at, finished_at } of operations) {
    if (finished_at === undefined) continue;
    const ms = Math.max(0, Date.parse(finished_at) - Date.parse(started_at));
    append(byEndpoint, `${method} ${routeOf(path)}`, ms);
  }
  return [...byEndpoint]
    .map(([endpoint, all]) => ({ endpoint, all: all.sort((a, b) => a - b) }))
    .sort((one, other) => compareText(one.endpoint, other.endpoint));
}

/** What `part` (0 to 1) of `sorted` do not exceed, between two of them where it falls between; 0 of none. */
export function quantile(sorted: readonly number[], part: number): number {
  const at = part * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? 0;
  const above = sorted[Math.ceil(at)] ?? below;
  return below + (above - below) * (at - Math.floor(at));
}

/** A call on a lane: calls on one lane do not overlap. Times are milliseconds since the run began. */
export interface Lane {
  readonly lane: number;
  readonly from: number;
  readonly to: number;
  readonly operation: HistoryOperation;
}

/** Calls on as few lanes as they need; one that has not ended reaches to `end`. Pure. */
export function findLanes(
  operations: readonly HistoryOperation[],
  { start, end }: { readonly start: number; readonly end: number },
): readonly Lane[] {
  const free: number[] = [];
  return operations.map((operation) => {
    const from = Date.parse(operation.started_at) - start;
    const to = operation.finished_at === undefined ? end : Date.parse(operation.finished_at) - start;
    const found = free.findIndex((until) => until <= from);
    const lane = found < 0 ? free.length : found;
    free[lane] = to;
    return { lane, from, to, operation };
  });
}

/** What one run changed, by kind of call, and the drift that it found; drift is absent when nothing was checked. */
export interface RunChanges {
  readonly run: HistoryRun;
  /** In the order of `operationKinds`; done calls alone. */
  readonly done: readonly number[];
  readonly drift?: number;
}

/** Changes and drift of each run. Pure. */
export function countRuns(runs: readonly HistoryRun[]): readonly RunChanges[] {
  return runs.map((run) => {
    const done = operationKinds.map(
      (kind) => run.operations.filter((each) => each.kind === kind && each.outcome === "done").length,
    );
    const { totals } = run;
    const drift =
      typeof totals === "object" && totals !== null && "drift" in totals ? totals.drift : undefined;
    return { run, done, ...(typeof drift === "number" ? { drift } : {}) };
  });
}
