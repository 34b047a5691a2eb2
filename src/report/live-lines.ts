import stringWidth from "fast-string-width";
import { lazily } from "../model/lazily.ts";
import type { Palette } from "./palette.ts";
import { formatWait } from "./progress-text.ts";
import { formatBytes, formatCount, formatSeconds, plural } from "./quantities.ts";
import type { Pace, RateBound, RunState, UploadState } from "./run-state.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** A line and how many columns it takes; `text` may hold colours beside. */
export interface LiveLine {
  readonly text: string;
  readonly width: number;
}

/** Makes the lines of a moment, none wider than `columns`. */
export type LiveLines = (columns: number) => readonly LiveLine[];

/** Lines of a terminal that are rewritten in place. */
export interface LiveDisplay {
  /** Shows what `render` gives, and asks it again when the terminal is resized. */
  show(render: LiveLines): void;
  /** Takes the lines away and leaves the terminal in order. */
  hide(): void;
}

/** Files that have a line of their own. */
const maxUploads = 3;

/** Of a bar, where there is room for a long one and where there is not. */
const longBar = 20;
const shortBar = 10;
const roomForLongBar = 100;
/** The shortest of which a part can be seen. */
const minBarWidth = 6;
/** What a bar leaves to a file's name and size at least; with less room there is no bar. */
const minForFile = 40;

/**
 * How far a run is, in a few lines:
 *
 * ```
 * [██░░░░░░] 12 of 40 changes · 34 of about 80 calls · about 9 s left
 * [████░░░░] 13.4 MB of 27.0 MB files/dragon.blend
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
  const head = formatProgress(state, now);
  const pace = formatPaceAndWait(state, now);
  return [
    ...(head === "" ? [] : [makeLiveLine({ text: head, bar: barOf(state, head, columns), columns, paint })]),
    ...uploads.map((upload) => {
      const bar = columns - barColumns(columns) < minForFile ? "" : barOfUpload(upload, columns);
      return makeLiveLine({ text: formatUpload(upload), bar, columns, paint });
    }),
    ...(others.length === 0 ? [] : [plain(`and ${others.length} more: ${formatUpload(sumOf(others))}`)]),
    ...(pace === "" ? [] : [plain(pace)]),
  ];
}

/** A line cut to `columns`, behind a bar that is not. */
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

/** The same in one line, for a log. */
export function formatStatus(state: RunState, now: number): string {
  const { uploads } = state;
  const storing = uploads.length === 0 ? "" : `storing ${formatUpload(sumOf(uploads))}`;
  return joined([formatProgress(state, now), storing, formatPaceAndWait(state, now)]);
}

function formatProgress(state: RunState, now: number): string {
  const { phase, ended, changes, failed, inDoubt, calls, expected } = state;
  const leftMs = state.leftMs(now);
  const left = leftMs === undefined ? "" : `about ${formatSeconds(Math.max(1, leftMs / 1000))} left`;
  switch (phase) {
    case "idle":
      return state.uploads.length === 0 ? "" : left;
    case "looking":
      return joined(["looking at the service", formatCalls(calls, expected), left]);
    case "running":
      return joined([
        `${formatCount(ended)} of ${plural(changes, "change")}`,
        failed === 0 ? "" : `${formatCount(failed)} failed`,
        inDoubt === 0 ? "" : `${formatCount(inDoubt)} in doubt`,
        formatCalls(calls, expected),
        left,
      ]);
  }
}

/** More than were reckoned are no longer of so many. */
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

/** `4.2 of 10 calls a second`; of a longer window the calls in it: `34 of 600 calls in 1 min`. */
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

/** Empty where the words of its line need the room. */
function barOf(
  { phase, ended, changes, calls, expected = 0 }: RunState,
  words: string,
  columns: number,
): string {
  const room = Math.min(barColumns(columns), columns - stringWidth(words) - 1);
  if (room < minBarWidth || phase === "idle") return "";
  return formatBar(phase === "looking" ? calls / Math.max(1, expected) : ended / Math.max(1, changes), room);
}

function barOfUpload({ sent, total }: UploadState, columns: number): string {
  return formatBar(sent / Math.max(1, total), barColumns(columns));
}

function barColumns(columns: number): number {
  return columns >= roomForLongBar ? longBar : shortBar;
}

/** `part` from 0 to 1; `size` in columns, without the space behind it. */
function formatBar(part: number, size: number): string {
  const inner = size - 2;
  const full = Math.round(Math.min(1, Math.max(0, part)) * inner);
  return `[${"█".repeat(full)}${"░".repeat(inner - full)}] `;
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
