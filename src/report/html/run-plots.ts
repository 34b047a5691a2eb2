import { scaleLinear, scaleLog } from "d3-scale";
import { outcomeWord } from "../history-text.ts";
import type { HistoryOperation } from "../history-view.ts";
import { formatCount, formatMilliseconds, formatRate, plural } from "../quantities.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { formatAxes, formatPlot, n, plotSize } from "./plot.ts";
import { callOutcomes } from "./run-ending.ts";
import { findLanes, findLatencies, findPeaks, quantile } from "./run-figures.ts";

/** The bound on calls that the config has: at most `limit` in any `windowMs`. */
export interface RateBound {
  readonly limit: number;
  readonly windowMs: number;
}

/** The writing calls of one run. Times are epoch milliseconds; `end` is when it ended, or its last call did. */
export interface RunSpan {
  readonly operations: readonly HistoryOperation[];
  readonly start: number;
  readonly end: number;
}

const { width, height, left, right, top, bottom } = plotSize;
const base = height - bottom;
const stretches = 170;
/** Marks past this many cannot be told apart, and make a page slow. */
const maxMarks = 3_000;

function elapsedScale({ start, end }: RunSpan) {
  return scaleLinear([0, Math.max(1, end - start) / 1000], [left, width - right]);
}

/** Calls of the journal within one window, against the bound. */
export function plotRate(span: RunSpan, bound: RateBound): Markup {
  const ms = Math.max(1, span.end - span.start);
  const { limit, windowMs } = bound;
  const peaks = findPeaks(span.operations, { start: span.start, ms, windowMs, stretches });
  const most = Math.max(0, ...peaks.map(({ calls }) => calls));
  const x = elapsedScale(span);
  const y = scaleLinear([0, Math.max(most, limit) * 1.08], [base, top]);
  const bars = peaks.map(
    ({ from, to, calls }) =>
      calls > 0 &&
      html`<rect class="area" x="${n(x(from / 1000))}" y="${n(y(calls))}" width="${n(Math.max(1, x(to / 1000) - x(from / 1000)))}" height="${n(base - y(calls))}"></rect>`,
  );
  const window = `${windowMs / 1000} s`;
  const rate = formatRate(limit, windowMs);
  return formatPlot({
    id: "rate",
    title: `Calls within ${window}, against the bound`,
    caption: `The most writing calls begun within any ${window} that ends at that time. The dashed line is the bound of the config, ${rate}. Reads, polls, retries and storage are bounded too, and not in the ledger one by one: only their number in all is.`,
    description: `At most ${plural(most, "call")} within ${window}; the bound is ${limit}.`,
    drawing: html`${formatAxes({
      x: {
        label: "seconds since the run began",
        ticks: x.ticks(8).map((at) => ({ at: x(at), text: String(at) })),
      },
      y: {
        label: `calls in ${window}`,
        ticks: y
          .ticks(5)
          .filter(Number.isInteger)
          .map((at) => ({ at: y(at), text: formatCount(at) })),
      },
    })}${bars}<line class="bound" x1="${left}" x2="${width - right}" y1="${n(y(limit))}" y2="${n(y(limit))}"></line>`,
    table: {
      head: ["From, s", "To, s", `Most calls in ${window}`],
      rows: peaks
        .filter(({ calls }) => calls > 0)
        .map(({ from, to, calls }) => [(from / 1000).toFixed(2), (to / 1000).toFixed(2), calls]),
    },
  });
}

/** How long calls took, by endpoint: every call as a dot, the middle half as a box, the median as a line. */
export function plotLatency(operations: readonly HistoryOperation[]): Markup | undefined {
  const latencies = findLatencies(operations);
  if (latencies.length === 0) return undefined;
  const rowHeight = 46;
  const tall = top + bottom + latencies.length * rowHeight;
  const longest = Math.max(2, ...latencies.map(({ all }) => all.at(-1) ?? 0));
  const shortest = Math.min(longest / 2, ...latencies.map(({ all }) => all[0] ?? 0));
  const least = Math.max(1, shortest * 0.85);
  const x = scaleLog([least, longest * 1.15], [left, width - right]);
  const place = (ms: number) => n(x(Math.max(least, ms)));
  const rows = latencies.map(({ endpoint, all }, row) => {
    const y = top + row * rowHeight;
    const step = Math.ceil(all.length / 300);
    const dots = all
      .filter((_ms, at) => at % step === 0)
      // Spread by their order, so that equal ones can be told apart and a page is the same each time.
      .map(
        (ms, at) =>
          html`<circle class="dot" cx="${place(ms)}" cy="${y + 24 + ((at * 7) % 15)}" r="2.5"></circle>`,
      );
    const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => place(quantile(all, part)));
    return html`<text class="name" x="${left}" y="${y + 14}">${endpoint}</text><rect class="box" x="${low ?? 0}" y="${y + 20}" width="${Math.max(1, n((high ?? 0) - (low ?? 0)))}" height="22"></rect>${dots}<line class="median" x1="${middle ?? 0}" x2="${middle ?? 0}" y1="${y + 18}" y2="${y + 44}"></line>`;
  });
  const steps = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000].flatMap((ms) => [ms, ms * 2, ms * 5]);
  const ticks = steps.filter((ms) => ms >= least && ms <= longest * 1.15);
  return formatPlot({
    id: "latency",
    title: "Time by endpoint",
    caption:
      "From when a call left to its outcome, with its retries and the waits between them, on a logarithmic scale. Each dot is a call (one of several, where there are many); the box holds the middle half, the line is the median.",
    description: latencies
      .map(
        ({ endpoint, all }) =>
          `${endpoint}: median ${formatMilliseconds(quantile(all, 0.5))} of ${plural(all.length, "call")}`,
      )
      .join("; "),
    height: tall,
    drawing: html`${formatAxes({
      height: tall,
      x: {
        label: "time of a call, milliseconds",
        ticks: ticks.map((ms) => ({ at: x(ms), text: formatCount(ms) })),
      },
      y: { label: "endpoint", ticks: [] },
    })}${rows}`,
    table: {
      head: [
        "Endpoint",
        "Calls",
        "Least, ms",
        "Quarter, ms",
        "Median, ms",
        "Three quarters, ms",
        "95 %, ms",
        "Most, ms",
      ],
      rows: latencies.map(({ endpoint, all }) => [
        endpoint,
        all.length,
        ...[0, 0.25, 0.5, 0.75, 0.95, 1].map((part) => Math.round(quantile(all, part))),
      ]),
    },
  });
}

/** When each call was under way, and how it ended. */
export function plotOperations(span: RunSpan): Markup | undefined {
  const { operations, start } = span;
  if (operations.length === 0) return undefined;
  const shown = operations.slice(0, maxMarks);
  const lanes = findLanes(shown, { start, end: span.end - start });
  const count = Math.max(...lanes.map(({ lane }) => lane)) + 1;
  const tall = top + bottom + Math.max(60, count * 20);
  const x = elapsedScale(span);
  const y = scaleLinear([0, count], [top, tall - bottom]);
  const marks = lanes.map(({ lane, from, to, operation }) => {
    const [begin, end] = [x(from / 1000), x(to / 1000)];
    const tip = `${operation.kind} ${operation.address}: ${outcomeWord(operation)}`;
    return html`<rect class="mark f-${classOf(operation)}" x="${n(begin)}" y="${n(y(lane) + 2)}" width="${n(Math.max(2, end - begin))}" height="${n(Math.max(4, y(1) - y(0) - 4))}" rx="2"><title>${tip}</title></rect>`;
  });
  const left_ = operations.length - shown.length;
  const rest =
    left_ === 0
      ? ""
      : ` The first ${formatCount(maxMarks)} are drawn; ${formatCount(left_)} are in the list below alone.`;
  return formatPlot({
    id: "operations",
    title: "Calls over time",
    caption: `Each bar is a writing call from when it left to its outcome; bars above each other were under way at once.${rest}`,
    description: `${plural(operations.length, "call")}, at most ${count} at once.`,
    height: tall,
    drawing: html`${formatAxes({
      height: tall,
      x: {
        label: "seconds since the run began",
        ticks: x.ticks(8).map((at) => ({ at: x(at), text: String(at) })),
      },
      y: { label: "calls at once", ticks: [] },
    })}${marks}`,
    legend: callOutcomes
      .filter((outcome) => operations.some((operation) => operation.outcome === outcome))
      .map((outcome) => ({ name: outcome.replaceAll("_", " "), mark: `f-${outcome}` })),
    table: {
      head: ["From, s", "To, s", "Call", "Address", "Outcome"],
      rows: lanes.map(({ from, to, operation }) => [
        (from / 1000).toFixed(3),
        operation.finished_at === undefined ? "not known" : (to / 1000).toFixed(3),
        operation.kind,
        operation.address,
        outcomeWord(operation),
      ]),
    },
  });
}

function classOf({ outcome }: HistoryOperation): string {
  return callOutcomes.find((known) => known === outcome) ?? "unknown";
}
