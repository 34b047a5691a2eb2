import { operationKinds } from "../../model/recorded.ts";
import { outcomeWord } from "../history-text.ts";
import type { HistoryOperation } from "../history-view.ts";
import { formatCount, formatMilliseconds, formatRate, plural } from "../quantities.ts";
import { formatStamp } from "./document.ts";
import { callOutcomes } from "./history-page.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import {
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
  ticksOf,
} from "./plot.ts";
import type { RunChanges } from "./run-figures.ts";
import { findLanes, findLatencies, findPeaks, quantile } from "./run-figures.ts";

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
    axis: { label: "seconds since the run started", ticks: ticksOf(scale, String) },
  };
}

/** A scale of whole numbers with some space above the largest. */
function counts(max: number) {
  const scale = linearScale(max * 1.08, upward, 5);
  return { ...scale, ticks: scale.ticks.filter(Number.isInteger) };
}

/** The number of calls in one window, with the rate limit. */
export function plotRate(span: RunSpan, { limit, windowMs }: RateBound): Markup {
  const ms = Math.max(1, span.end - span.start);
  const peaks = findPeaks(span.operations, { start: span.start, ms, windowMs, stretches }).filter(
    ({ calls }) => calls > 0,
  );
  const most = Math.max(0, ...peaks.map(({ calls }) => calls));
  const x = elapsed(span);
  const y = counts(Math.max(most, limit));
  const bars = peaks.map(({ from, to, calls }) => {
    const begin = x.at(from);
    const place = placeArea({ x: [begin, Math.max(begin + 1, x.at(to))], y: [y.at(calls), base] });
    return html`<rect class="area" ${place}></rect>`;
  });
  const window = `${windowMs / 1000} s`;
  const axes = formatAxes({ x: x.axis, y: { label: `calls in ${window}`, ticks: ticksOf(y, formatCount) } });
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
    const dots = all
      .filter((_ms, at) => at % step === 0)
      // Spread by position, so that equal durations are distinguishable and the page is deterministic.
      .map(
        (ms, at) =>
          html`<circle class="dot" cx="${n(x.at(ms))}" cy="${y + 24 + ((at * 7) % 15)}" r="2.5"></circle>`,
      );
    const [low, median, high] = [
      x.at(quantile(all, 0.25)),
      n(x.at(quantile(all, 0.5))),
      x.at(quantile(all, 0.75)),
    ];
    const box = placeArea({ x: [low, Math.max(low + 1, high)], y: [y + 20, y + 42] });
    return html`<text class="name" x="${left}" y="${y + 14}">${endpoint}</text><rect class="box" ${box}></rect>${dots}<line class="median" x1="${median}" x2="${median}" y1="${y + 18}" y2="${y + 44}"></line>`;
  });
  const axes = formatAxes({
    height,
    x: { label: "duration of a call, milliseconds", ticks: ticksOf(x, formatCount) },
    y: { label: "endpoint", ticks: [] },
  });
  return formatPlot({
    id: "latency",
    title: "Duration by endpoint",
    caption:
      "From the start of a call to its outcome, with retries and the waits between them, on a logarithmic scale. Each dot is a call (a sample, if there are many); the box is the middle half, the line the median.",
    description: latencies
      .map(
        ({ endpoint, all }) =>
          `${endpoint}: median ${formatMilliseconds(quantile(all, 0.5))} of ${plural(all.length, "call")}`,
      )
      .join("; "),
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

/** Each call as a bar from start to outcome. */
export function plotOperations(span: RunSpan): Markup | undefined {
  const { operations, start, end } = span;
  if (operations.length === 0) return undefined;
  const lanes = findLanes(operations.slice(0, maxMarks), { start, end: end - start });
  const count = Math.max(...lanes.map(({ lane }) => lane)) + 1;
  const height = top + bottom + Math.max(60, count * 20);
  const laneHeight = (height - top - bottom) / count;
  const x = elapsed(span);
  const marks = lanes.map(({ lane, from, to, operation }) => {
    const begin = x.at(from);
    const y = top + lane * laneHeight + 2;
    const place = placeArea({ x: [begin, Math.max(begin + 2, x.at(to))], y: [y, y + laneHeight - 4] });
    const tip = `${operation.kind} ${operation.address}: ${outcomeWord(operation)}`;
    const outcome = callOutcomes.find((known) => known === operation.outcome) ?? "unknown";
    return html`<rect class="mark f-${outcome}" ${place} rx="2"><title>${tip}</title></rect>`;
  });
  const hidden = operations.length - lanes.length;
  const rest =
    hidden === 0
      ? ""
      : ` The first ${formatCount(maxMarks)} are drawn; ${formatCount(hidden)} are only in the list below.`;
  return formatPlot({
    id: "operations",
    title: "Calls over time",
    caption: `Each bar is a writing call from its start to its outcome; bars above each other ran at the same time.${rest}`,
    description: `${plural(operations.length, "call")}, at most ${count} at the same time.`,
    height,
    drawing: html`${formatAxes({ height, x: x.axis, y: { label: "concurrent calls", ticks: [] } })}${marks}`,
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
function columnsOf(runs: readonly RunChanges[], max: number, label: string) {
  const y = counts(Math.max(1, max));
  const step = (right - left) / runs.length;
  const width = Math.min(48, Math.max(1, step * 0.7));
  const middles = runs.map((_run, at) => left + step * (at + 0.5));
  const every = Math.ceil(runs.length / 8);
  // Runs of one day may be seconds apart.
  const days = new Set(runs.map(({ run }) => run.started_at.slice(0, 10)));
  const [day] = days.size === 1 ? days : [];
  const ticks = runs.flatMap(({ run: { started_at: iso } }, at) => {
    const text = day === undefined ? iso.slice(5, 16).replace("T", " ") : iso.slice(11, 19);
    return at % every === 0 ? [{ at: middles[at] ?? left, text }] : [];
  });
  const time = day === undefined ? "month-day and time (UTC)" : `time (UTC) on ${day}`;
  const axes = formatAxes({
    x: { label: `run started, ${time}`, ticks },
    y: { label, ticks: ticksOf(y, formatCount) },
  });
  const place = (at: number, from: number, to: number) => {
    const middle = middles[at] ?? left;
    return placeArea({ x: [middle - width / 2, middle + width / 2], y: [y.at(to), y.at(from)] });
  };
  return { axes, middles, place };
}

const nameOf = ({ run }: RunChanges) => `${formatStamp(Date.parse(run.started_at))} ${run.command}`;

/** The changes of each run by kind of call; `undefined` if there are none. */
export function plotChanges(runs: readonly RunChanges[]): Markup | undefined {
  const sums = runs.map(({ done }) => done.reduce((sum, count) => sum + count, 0));
  const max = Math.max(...sums);
  if (max === 0) return undefined;
  const { axes, place } = columnsOf(runs, max, "calls done");
  const marks = runs.map(({ done }, at) => {
    let below = 0;
    return done.map((count, kind) => {
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
      runs.some(({ done }) => (done[kind] ?? 0) > 0)
        ? [{ name, mark: `s${kind}`, hatch: hatchOf(kind) }]
        : [],
    ),
    table: { head: ["Run", ...operationKinds], rows: runs.map((run) => [nameOf(run), ...run.done]) },
  });
}

/** The drift of each run; `undefined` if no run checked. */
export function plotDrift(runs: readonly RunChanges[]): Markup | undefined {
  const found = runs.flatMap(({ drift }) => drift ?? []);
  if (found.length === 0) return undefined;
  const max = Math.max(...found);
  const { axes, middles, place } = columnsOf(runs, max, "resources");
  const marks = runs.map(({ drift }, at) => {
    if (drift === undefined) return undefined;
    if (drift > 0) return html`<rect class="mark s1" ${place(at, 0, drift)}></rect>`;
    return html`<circle class="mark s1" cx="${n(middles[at] ?? left)}" cy="${base}" r="3"></circle>`;
  });
  return formatPlot({
    id: "drift-by-run",
    title: "Drift by run",
    caption:
      "Resources that changed outside draftsync. A dot is a run that checked and found none; a run without a mark did not check.",
    description: `${plural(found.length, "run")} checked, and found at most ${plural(max, "changed resource")}.`,
    drawing: html`${axes}${marks}`,
    table: { head: ["Run", "Drift"], rows: runs.map((run) => [nameOf(run), run.drift ?? "not checked"]) },
  });
}
