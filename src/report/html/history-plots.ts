import { compareText } from "../../model/address.ts";
import { append } from "../../model/lists.ts";
import { operationKinds } from "../../model/recorded.ts";
import { outcomeWord, totalOf } from "../history-text.ts";
import type { HistoryOperation, HistoryRun } from "../history-view.ts";
import { routeOf } from "../log-line.ts";
import { formatCount, formatMilliseconds, formatRate, plural } from "../quantities.ts";
import { formatStamp } from "./document.ts";
import { html, type Markup } from "./markup.ts";
import {
  axisOf,
  formatAxes,
  formatPlot,
  hatchOf,
  hatchPatterns,
  innerSize,
  linearScale,
  logScale,
  n,
  placeArea,
  plotSize,
} from "./plot.ts";

/** The outcomes of the calls of a run, from the ledger. */
export const callOutcomes = ["done", "rejected", "not_sent", "unknown"] as const;

/** One of {@link callOutcomes}; an unknown word counts as `unknown`. */
export function knownOutcome({ outcome }: HistoryOperation) {
  return callOutcomes.find((known) => known === outcome) ?? "unknown";
}

/** The rate limit of the config: at most `limit` calls in any `windowMs`. */
export interface RateBound {
  readonly limit: number;
  readonly windowMs: number;
}

/** The writing calls of one run. Times are epoch milliseconds; `end` is the end of the run or of its last call. */
export interface RunSpan {
  readonly operations: readonly HistoryOperation[];
  readonly start: number;
  readonly end: number;
}

const { x: across, y: upward } = innerSize();
const [left, right] = across;
const [base] = upward;
const { top, bottom } = plotSize;
const stretches = 170;
/** More marks are indistinguishable, and make the page slow. */
const maxMarks = 3_000;

function elapsed({ start, end }: RunSpan) {
  const scale = linearScale(Math.max(1, end - start) / 1000, across, 8);
  return {
    at: (ms: number) => scale.at(ms / 1000),
    axis: axisOf(scale, "seconds since the run started", String),
  };
}

/** A scale of whole numbers with some space above the largest. */
function counts(max: number) {
  const scale = linearScale(max * 1.08, upward, 5);
  return { ...scale, ticks: scale.ticks.filter(Number.isInteger) };
}

/**
 * In `stretches` equal parts of a run, the most calls that started within one window of `windowMs` that ends in the part.
 * `from` and `to` are milliseconds since the run started. Parts without calls are left out.
 */
export function findPeaks({ operations, start, end }: RunSpan, windowMs: number, parts = stretches) {
  const begins = operations.map(({ started_at }) => Date.parse(started_at) - start).sort((a, b) => a - b);
  const width = Math.max(1, end - start) / parts;
  const peaks = Array.from({ length: parts }, (_none, at) => {
    // Calls that started shortly before a part still count at its beginning.
    const from = at * width;
    return begins.filter((begin) => begin > from - windowMs && begin <= from).length;
  });
  let first = 0;
  for (const [at, begin] of begins.entries()) {
    while ((begins[first] ?? begin) <= begin - windowMs) first += 1;
    const part = Math.min(parts - 1, Math.max(0, Math.floor(begin / width)));
    peaks[part] = Math.max(peaks[part] ?? 0, at - first + 1);
  }
  return peaks
    .map((calls, at) => ({ from: at * width, to: (at + 1) * width, calls }))
    .filter(({ calls }) => calls > 0);
}

/** The number of calls in one window, with the rate limit. */
export function plotRate(span: RunSpan, { limit, windowMs }: RateBound): Markup {
  const peaks = findPeaks(span, windowMs);
  const most = Math.max(0, ...peaks.map(({ calls }) => calls));
  const x = elapsed(span);
  const y = counts(Math.max(most, limit));
  const bars = peaks.map(({ from, to, calls }) => {
    const begin = x.at(from);
    return html`<rect class="area" ${placeArea(begin, Math.max(begin + 1, x.at(to)), y.at(calls), base)}></rect>`;
  });
  const window = `${windowMs / 1000} s`;
  const axes = formatAxes(x.axis, axisOf(y, `calls in ${window}`, formatCount));
  return formatPlot({
    id: "rate",
    title: `Calls in ${window}, with the rate limit`,
    caption: `The most writing calls that started in any ${window}. The dashed line is the configured limit, ${formatRate(limit, windowMs)}. Reads, polls, retries and storage calls also count against the limit, but the ledger does not record them one by one.`,
    description: `At most ${plural(most, "call")} in ${window}; the limit is ${limit}.`,
    drawing: html`${axes}${bars}<line class="bound" x1="${left}" x2="${right}" y1="${n(y.at(limit))}" y2="${n(y.at(limit))}"></line>`,
    table: {
      head: ["From, s", "To, s", `Most calls in ${window}`],
      rows: peaks.map(({ from, to, calls }) => [(from / 1000).toFixed(2), (to / 1000).toFixed(2), calls]),
    },
  });
}

/** The durations of calls that ended by endpoint, in milliseconds and rising order; retries and waits are included. */
function findLatencies(operations: readonly HistoryOperation[]) {
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

/** The value that `part` (0 to 1) of `sorted` do not exceed, interpolated; 0 of none. */
export function quantile(sorted: readonly number[], part: number): number {
  const at = part * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? 0;
  const above = sorted[Math.ceil(at)] ?? below;
  return below + (above - below) * (at - Math.floor(at));
}

/** The duration of calls by endpoint: each call a dot, the middle half a box, the median a line. */
export function plotLatency(operations: readonly HistoryOperation[]): Markup | undefined {
  const latencies = findLatencies(operations);
  if (latencies.length === 0) return undefined;
  const rowHeight = 46;
  const height = top + bottom + latencies.length * rowHeight;
  const longest = Math.max(2, ...latencies.map(({ all }) => all.at(-1) ?? 0));
  const shortest = Math.min(longest / 2, ...latencies.map(({ all }) => all[0] ?? 0));
  const x = logScale([Math.max(1, shortest * 0.85), longest * 1.15], across);
  const rows = latencies.map(({ endpoint, all }, row) => {
    const y = top + row * rowHeight;
    const step = Math.ceil(all.length / 300);
    // Spread by position, so that equal durations are distinguishable and the page is deterministic.
    const dots = all
      .filter((_ms, at) => at % step === 0)
      .map(
        (ms, at) =>
          html`<circle class="dot" cx="${n(x.at(ms))}" cy="${y + 24 + ((at * 7) % 15)}" r="2.5"></circle>`,
      );
    const low = x.at(quantile(all, 0.25));
    const median = n(x.at(quantile(all, 0.5)));
    const high = Math.max(low + 1, x.at(quantile(all, 0.75)));
    return html`<text class="name" x="${left}" y="${y + 14}">${endpoint}</text><rect class="box" ${placeArea(low, high, y + 20, y + 42)}></rect>${dots}<line class="median" x1="${median}" x2="${median}" y1="${y + 18}" y2="${y + 44}"></line>`;
  });
  const axes = formatAxes(
    axisOf(x, "duration of a call, milliseconds", formatCount),
    { label: "endpoint", ticks: [] },
    height,
  );
  const descriptions = latencies.map(
    ({ endpoint, all }) =>
      `${endpoint}: median ${formatMilliseconds(quantile(all, 0.5))} of ${plural(all.length, "call")}`,
  );
  return formatPlot({
    id: "latency",
    title: "Duration by endpoint",
    caption:
      "From the start of a call to its outcome, with retries and the waits between them, on a logarithmic scale. Each dot is a call (a sample, if there are many); the box is the middle half, the line the median.",
    description: descriptions.join("; "),
    height,
    drawing: html`${axes}${rows}`,
    table: {
      head: ["Endpoint", "Calls", "Min, ms", "25 %, ms", "Median, ms", "75 %, ms", "95 %, ms", "Max, ms"],
      rows: latencies.map(({ endpoint, all }) => [
        endpoint,
        all.length,
        ...[0, 0.25, 0.5, 0.75, 0.95, 1].map((part) => Math.round(quantile(all, part))),
      ]),
    },
  });
}

/** Calls on as few lanes as they need; calls on one lane do not overlap. A call without an end lasts to that of the run. */
function findLanes({ operations, start, end }: RunSpan) {
  const free: number[] = [];
  return operations.map((operation) => {
    const from = Date.parse(operation.started_at) - start;
    const to = (operation.finished_at === undefined ? end : Date.parse(operation.finished_at)) - start;
    const found = free.findIndex((until) => until <= from);
    const lane = found < 0 ? free.length : found;
    free[lane] = to;
    return { lane, from, to, operation };
  });
}

/** Each call as a bar from start to outcome. */
export function plotOperations(span: RunSpan): Markup | undefined {
  const { operations } = span;
  if (operations.length === 0) return undefined;
  const lanes = findLanes({ ...span, operations: operations.slice(0, maxMarks) });
  const count = Math.max(...lanes.map(({ lane }) => lane)) + 1;
  const height = top + bottom + Math.max(60, count * 20);
  const laneHeight = (height - top - bottom) / count;
  const x = elapsed(span);
  const marks = lanes.map(({ lane, from, to, operation }) => {
    const begin = x.at(from);
    const y = top + lane * laneHeight + 2;
    const place = placeArea(begin, Math.max(begin + 2, x.at(to)), y, y + laneHeight - 4);
    const tip = `${operation.kind} ${operation.address}: ${outcomeWord(operation)}`;
    return html`<rect class="mark f-${knownOutcome(operation)}" ${place} rx="2"><title>${tip}</title></rect>`;
  });
  const hidden = operations.length - lanes.length;
  const rest =
    hidden === 0
      ? ""
      : ` The first ${formatCount(maxMarks)} are drawn; ${formatCount(hidden)} are only in the list below.`;
  const axes = formatAxes(x.axis, { label: "concurrent calls", ticks: [] }, height);
  return formatPlot({
    id: "operations",
    title: "Calls over time",
    caption: `Each bar is a writing call from its start to its outcome; bars above each other ran at the same time.${rest}`,
    description: `${plural(operations.length, "call")}, at most ${count} at the same time.`,
    height,
    drawing: html`${axes}${marks}`,
    legend: callOutcomes
      .filter((outcome) => operations.some((operation) => operation.outcome === outcome))
      .map((outcome) => ({ name: outcome.replaceAll("_", " "), mark: `f-${outcome}` })),
    table: {
      head: ["From, s", "To, s", "Call", "Address", "Outcome"],
      rows: lanes.map(({ from, to, operation }) => [
        (from / 1000).toFixed(3),
        operation.finished_at === undefined ? "unknown" : (to / 1000).toFixed(3),
        operation.kind,
        operation.address,
        outcomeWord(operation),
      ]),
    },
  });
}

/** One column for each run, with its start on the x axis. */
function columnsOf(runs: readonly HistoryRun[], max: number, label: string) {
  const y = counts(Math.max(1, max));
  const step = (right - left) / runs.length;
  const width = Math.min(48, Math.max(1, step * 0.7));
  const middleOf = (at: number) => left + step * (at + 0.5);
  const every = Math.ceil(runs.length / 8);
  // Runs of one day may be seconds apart.
  const days = new Set(runs.map(({ started_at }) => started_at.slice(0, 10)));
  const [day] = days.size === 1 ? days : [];
  const ticks = runs.flatMap(({ started_at: iso }, at) => {
    const text = day === undefined ? iso.slice(5, 16).replace("T", " ") : iso.slice(11, 19);
    return at % every === 0 ? [{ at: middleOf(at), text }] : [];
  });
  const time = day === undefined ? "month-day and time (UTC)" : `time (UTC) on ${day}`;
  const axes = formatAxes({ label: `run started, ${time}`, ticks }, axisOf(y, label, formatCount));
  const place = (at: number, from: number, to: number) =>
    placeArea(middleOf(at) - width / 2, middleOf(at) + width / 2, y.at(to), y.at(from));
  return { axes, middleOf, place };
}

const nameOf = (run: HistoryRun) => `${formatStamp(Date.parse(run.started_at))} ${run.command}`;

/** The changes of each run by kind of call; `undefined` if there are none. */
export function plotChanges(runs: readonly HistoryRun[]): Markup | undefined {
  const done = runs.map(({ operations }) =>
    operationKinds.map(
      (kind) => operations.filter((each) => each.kind === kind && each.outcome === "done").length,
    ),
  );
  const sums = done.map((kinds) => kinds.reduce((sum, count) => sum + count, 0));
  const max = Math.max(...sums);
  if (max === 0) return undefined;
  const { axes, place } = columnsOf(runs, max, "calls done");
  const marks = done.map((kinds, at) => {
    let below = 0;
    return kinds.map((count, kind) => {
      if (count === 0) return undefined;
      const area = place(at, below, below + count);
      below += count;
      return html`<rect class="mark s${kind}" ${area}></rect><rect fill="${hatchOf(kind)}" ${area}><title>${`${operationKinds[kind] ?? ""}: ${count}`}</title></rect>`;
    });
  });
  const total = sums.reduce((sum, count) => sum + count, 0);
  return formatPlot({
    id: "changes",
    title: "Changes by run",
    caption:
      "Writing calls that were done, by kind. Runs that the ledger no longer has (reconcile runs without calls, after a week) are missing.",
    description: `${plural(total, "call")} done in ${plural(runs.length, "run")}; at most ${max} in one.`,
    drawing: html`${hatchPatterns}${axes}${marks}`,
    legend: operationKinds.flatMap((name, kind) =>
      done.some((kinds) => kinds[kind] !== 0) ? [{ name, mark: `s${kind}`, hatch: hatchOf(kind) }] : [],
    ),
    table: {
      head: ["Run", ...operationKinds],
      rows: runs.map((run, at) => [nameOf(run), ...(done[at] ?? [])]),
    },
  });
}

/** The drift of each run; `undefined` if no run checked. */
export function plotDrift(runs: readonly HistoryRun[]): Markup | undefined {
  const drifts = runs.map((run) => totalOf(run, "drift"));
  const found = drifts.filter((drift) => drift !== undefined);
  if (found.length === 0) return undefined;
  const max = Math.max(...found);
  const { axes, middleOf, place } = columnsOf(runs, max, "resources");
  const marks = drifts.map((drift, at) => {
    if (drift === undefined) return undefined;
    if (drift > 0) return html`<rect class="mark s1" ${place(at, 0, drift)}></rect>`;
    return html`<circle class="mark s1" cx="${n(middleOf(at))}" cy="${base}" r="3"></circle>`;
  });
  return formatPlot({
    id: "drift-by-run",
    title: "Drift by run",
    caption:
      "Resources that changed outside draftsync. A dot is a run that checked and found none; a run without a mark did not check.",
    description: `${plural(found.length, "run")} checked, and found at most ${plural(max, "changed resource")}.`,
    drawing: html`${axes}${marks}`,
    table: {
      head: ["Run", "Drift"],
      rows: runs.map((run, at) => [nameOf(run), drifts[at] ?? "not checked"]),
    },
  });
}
