import stringWidth from "fast-string-width";
import { lazily } from "../model/lazily.ts";
import type { Palette } from "./palette.ts";
import { formatWait } from "./progress-text.ts";
import { formatBytes, formatCount, formatSeconds, plural } from "./quantities.ts";
import type { Pace, RateBound, RunState, UploadState } from "./run-state.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** A line and its width in columns, without the color codes in `text`. */
export interface LiveLine {
  readonly text: string;
  readonly width: number;
}

/** Renders the current lines, none wider than `columns`. */
export type LiveLines = (columns: number) => readonly LiveLine[];

/** Lines of a terminal that are redrawn in place. */
export interface LiveDisplay {
  /** Shows the lines of `render`, and calls it again after a resize. */
  show(render: LiveLines): void;
  /** Erases the lines and restores the terminal. */
  hide(): void;
}

/** Uploads with their own line. */
const maxUploads = 3;

/** Cells of a bar, and of one on a terminal with fewer columns than that. */
const longBar = 20;
const shortBar = 8;
const minColumnsForLongBar = 72;
/** On a narrower terminal the text takes all of the line. */
const minColumnsForBar = 40;
/** Columns for the name and size of a file; if fewer are left, there is no bar. */
const minFileColumns = 40;

/**
 * The progress of a run:
 *
 * ```
 * [██████░░░░░░░░░░░░░░] 12 of 40 changes · 34 of about 80 calls · about 9 s left
 * [██████████░░░░░░░░░░] 13.4 MB of 27.0 MB files/dragon.blend
 * 4.2 of 10 calls a second · rate limited; retrying in 12 s
 * ```
 */
export function formatLive(
  state: RunState,
  { now, columns, paint }: { readonly now: number; readonly columns: number; readonly paint: Palette },
): readonly LiveLine[] {
  const plain = (text: string) => makeLiveLine({ text, columns, paint });
  const uploads = state.uploads.slice(0, maxUploads);
  const others = state.uploads.slice(maxUploads);
  const bar = barOf(state, columns);
  const head = formatProgress(state, now, columns - stringWidth(bar));
  const pace = formatPaceAndWait(state, now);
  return [
    ...(head === "" ? [] : [makeLiveLine({ text: head, bar, columns, paint })]),
    ...uploads.map((upload) => {
      const fits = columns - barCells(columns) >= minFileColumns;
      return makeLiveLine({
        text: formatUpload(upload),
        bar: fits ? barOfUpload(upload, columns) : "",
        columns,
        paint,
      });
    }),
    ...(others.length === 0 ? [] : [plain(`and ${others.length} more: ${formatUpload(sumOf(others))}`)]),
    ...(pace === "" ? [] : [plain(pace)]),
  ];
}

/** A bar and a text, which is cut to `columns`. */
export function makeLiveLine({ text, bar = "", columns, paint }: LiveLineParts): LiveLine {
  const words = fitColumns(text, Math.max(1, columns - stringWidth(bar)));
  return { text: `${paint("info", bar)}${paint("muted", words)}`, width: stringWidth(bar + words) };
}

interface LiveLineParts {
  readonly text: string;
  readonly bar?: string;
  readonly columns: number;
  readonly paint: Palette;
}

/** The progress in one line, for a log. */
export function formatStatus(state: RunState, now: number): string {
  const { uploads } = state;
  const storing = uploads.length === 0 ? "" : `storing ${formatUpload(sumOf(uploads))}`;
  return joined([formatProgress(state, now), storing, formatPaceAndWait(state, now)]);
}

/** The number of calls is left out where it does not fit. */
function formatProgress(state: RunState, now: number, columns = Number.POSITIVE_INFINITY): string {
  const whole = describeProgress(state, now, true);
  return stringWidth(whole) <= columns ? whole : describeProgress(state, now, false);
}

function describeProgress(state: RunState, now: number, withCalls: boolean): string {
  const { phase, ended, changes, failed, inDoubt, calls, expected } = state;
  const leftMs = state.leftMs(now);
  const left = leftMs === undefined ? "" : `about ${formatSeconds(Math.max(1, leftMs / 1000))} left`;
  switch (phase) {
    case "idle":
      return state.uploads.length === 0 ? "" : left;
    case "refreshing":
      return joined(["checking the service", withCalls ? formatCalls(calls, expected) : "", left]);
    case "running":
      return joined([
        `${formatCount(ended)} of ${plural(changes, "change")}`,
        failed === 0 ? "" : `${formatCount(failed)} failed`,
        inDoubt === 0 ? "" : `${formatCount(inDoubt)} in doubt`,
        withCalls ? formatCalls(calls, expected) : "",
        left,
      ]);
  }
}

/** The estimate is left out once it is exceeded. */
function formatCalls(calls: number, expected = 0): string {
  return calls > expected
    ? plural(calls, "call")
    : `${formatCount(calls)} of about ${plural(expected, "call")}`;
}

function formatPaceAndWait(state: RunState, now: number): string {
  const { bound } = state;
  const wait = state.wait(now);
  const pace = bound === undefined || state.phase === "idle" ? "" : formatPace(state.pace(now), bound);
  return joined([pace, wait === undefined ? "" : formatWait(wait)]);
}

/** `4.2 of 10 calls a second`; for a longer window, the calls in it: `34 of 600 calls in 1 min`. */
function formatPace({ calls, windowMs }: Pace, { limit, windowMs: boundMs }: RateBound): string {
  if (boundMs > windowMs || boundMs > 5_000) {
    return `${formatCount(calls)} of ${plural(limit, "call")} in ${formatSeconds(boundMs / 1000)}`;
  }
  const asOften = (count: number) =>
    count >= 10 ? formatCount(Math.round(count)) : String(Number(count.toFixed(1)));
  const allowed = (limit * 1000) / boundMs;
  return `${Math.min(allowed, (calls * 1000) / windowMs).toFixed(1)} of ${asOften(allowed)} calls a second`;
}

function formatUpload({ source, sent, total }: UploadState): string {
  return `${formatBytes(sent)} of ${formatBytes(total)} ${sanitizeLine(source)}`.trimEnd();
}

function sumOf(uploads: readonly UploadState[]): UploadState {
  const [first, ...rest] = uploads;
  const source = first === undefined || rest.length > 0 ? "" : first.source;
  return {
    source,
    sent: uploads.reduce((sum, { sent }) => sum + sent, 0),
    total: uploads.reduce((sum, { total }) => sum + total, 0),
  };
}

function barOf({ phase, ended, changes, calls, expected = 0 }: RunState, columns: number): string {
  if (phase === "idle" || columns < minColumnsForBar) return "";
  const part = phase === "refreshing" ? calls / Math.max(1, expected) : ended / Math.max(1, changes);
  return formatBar(part, barCells(columns));
}

function barOfUpload({ sent, total }: UploadState, columns: number): string {
  return formatBar(sent / Math.max(1, total), barCells(columns));
}

function barCells(columns: number): number {
  return columns >= minColumnsForLongBar ? longBar : shortBar;
}

/** `part` is 0 to 1. */
function formatBar(part: number, cells: number): string {
  const full = Math.round(Math.min(1, Math.max(0, part)) * cells);
  return `[${"█".repeat(full)}${"░".repeat(cells - full)}] `;
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

const segmenter = lazily(() => new Intl.Segmenter("en", { granularity: "grapheme" }));

/** The start of a line that fits into `columns`, with `…` if it was cut. */
function fitColumns(line: string, columns: number): string {
  if (stringWidth(line) <= columns) return line;
  let fitting = "";
  let width = 1;
  for (const { segment } of segmenter().segment(line)) {
    width += stringWidth(segment);
    if (width > columns) break;
    fitting += segment;
  }
  return `${fitting}…`;
}
