import type { Drift } from "../model/drift.ts";
import type { StoredOperation, StoredRun } from "../model/history.ts";
import type { RefreshSummary } from "../model/observed.ts";
import { isoTime } from "../model/time.ts";
import { viewDrift, viewRefresh } from "./drift-view.ts";
import { formatLeftOut, formatName, formatShortValue, MarkdownBudget } from "./markdown.ts";
import type { Palette } from "./palette.ts";
import { formatDriftItem, formatRefresh } from "./plan-text.ts";
import { describeAgo, formatCount, plural } from "./quantities.ts";
import { codeSpan, commentMarker, tableCell } from "./sanitize-markdown.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** The version of the report's JSON. */
export const driftFormatVersion = 1;

/** Recorded against observed, for scripts. */
export interface DriftReport {
  readonly format_version: typeof driftFormatVersion;
  readonly workspace: string;
  readonly service_origin: string;
  readonly refresh: RefreshSummary;
  readonly drift: readonly DriftEntry[];
}

/** A drift, and our last call for its address: somebody else made the difference after it. */
export type DriftEntry = Drift & { readonly last_call: LastCall | null };

/** A writing call of ours. The time is ISO 8601, UTC. */
export interface LastCall {
  readonly method: string;
  readonly path: string;
  readonly at: string;
  /** `unknown`: it may have been this very call that changed it. */
  readonly outcome: string;
  readonly run_id: string;
  readonly command: string;
}

/** What we know of our own calls. */
export interface OwnCalls {
  /** At the addresses that drifted, by start. */
  readonly operations: readonly StoredOperation[];
  readonly runs: readonly StoredRun[];
}

/** Puts a report together. Pure. */
export function makeDriftReport(
  head: Pick<DriftReport, "workspace" | "service_origin" | "refresh">,
  drift: readonly Drift[],
  own: OwnCalls,
): DriftReport {
  const last = new Map(own.operations.map((operation) => [operation.address, operation]));
  const commands = new Map(own.runs.map(({ id, command }) => [id, command]));
  const lastCall = (operation: StoredOperation | undefined): LastCall | null =>
    operation === undefined
      ? null
      : {
          method: operation.method,
          path: operation.path,
          at: isoTime(operation.startedAt),
          outcome: operation.settled?.as ?? operation.outcome ?? "unknown",
          run_id: operation.runId,
          command: commands.get(operation.runId) ?? "",
        };
  return {
    format_version: driftFormatVersion,
    ...head,
    drift: drift.map((item) => ({ ...item, last_call: lastCall(last.get(item.address)) })),
  };
}

/** The report for a terminal or a log, at `now` (epoch milliseconds). Ends with a line feed. */
export function formatDriftText(report: DriftReport, now: number, paint: Palette): string {
  const items = report.drift.map((entry) => formatEntry(entry, now, paint));
  const { length } = report.drift;
  const head =
    length === 0
      ? `${paint("strong", "No drift.")} All checked resources match.`
      : `${paint("warning", "Drift detected:")} ${plural(length, "resource")} changed outside draftsync.`;
  const refresh = formatRefresh(viewRefresh(report.refresh, now), paint);
  return `${[...items, ...(length === 0 ? [] : [""]), head, ...refresh].join("\n")}\n`;
}

function formatEntry(entry: DriftEntry, now: number, paint: Palette): string {
  const ours = paint("muted", `          ${sanitizeLine(describeLastCall(entry.last_call, now))}`);
  return `${formatDriftItem(viewDrift(entry, now), paint)}\n${ours}`;
}

/** Who changed it, as far as it can be known: `last call by draftsync: PATCH 3 days ago, apply (run 4f1c2a90)`. */
export function describeLastCall(call: LastCall | null, now: number): string {
  if (call === null) return "no call by draftsync: made by a person or another tool";
  const run = `${call.command || "a run"} (run ${call.run_id.slice(0, 8)})`;
  const last = `last call by draftsync: ${call.method} ${describeAgo(call.at, now)}, ${run}`;
  return call.outcome === "unknown"
    ? `${last}; it is in doubt, and may have been this`
    : `${last}; changed outside draftsync after that`;
}

/** How a report is written as Markdown. */
export interface DriftMarkdownOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** The largest size in characters (UTF-16 units), at least `minMarkdownChars`. */
  readonly maxChars: number;
}

/** Space for the marker, the headline, the refresh and what was left out. */
const frameChars = 1_500;

/**
 * The report for a pull request, an issue or a chat. The first line is the marker of the comment. The table ends where
 * `maxChars` is reached, and the report counts the rest. Ends with a line feed. Pure.
 */
export function formatDriftMarkdown(report: DriftReport, { now, maxChars }: DriftMarkdownOptions): string {
  const { drift, refresh, workspace } = report;
  const head = drift.length === 0 ? "No drift" : `Drift: ${formatCount(drift.length)}`;
  const { checked, notChecked } = viewRefresh(refresh, now);
  const rows = new MarkdownBudget(maxChars - frameChars).fit(drift.map((entry) => formatRow(entry, now)));
  const table = rows.length === 0 ? [] : ["| | address | what | who |", "|---|---|---|---|", ...rows, ""];
  const missing = drift.length - rows.length;
  const leftOut = missing === 0 ? [] : [`${formatCount(missing)} of the drift`];
  return `${[
    commentMarker("drift", workspace),
    `### ${head} in ${codeSpan(workspace, 80)}`,
    "",
    ...table,
    ...(missing === 0 ? [] : [formatLeftOut(leftOut, maxChars, "`draftsync drift`"), ""]),
    `${[checked, ...notChecked].join(". ")}.`,
  ].join("\n")}\n`;
}

function formatRow(entry: DriftEntry, now: number): string {
  const view = viewDrift(entry, now);
  const values = view.values.map(formatShortValue).join("<br>");
  const what = [view.note, values].filter((part) => part !== "").join("<br>");
  const who = describeLastCall(entry.last_call, now);
  const cells = [`\`${view.symbol}\``, formatName(view), what, `${view.evidence}; ${codeSpan(who)}`];
  return `| ${cells.map(tableCell).join(" | ")} |`;
}
