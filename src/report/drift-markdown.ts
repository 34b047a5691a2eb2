import { commentMarker } from "./comment-marker.ts";
import type { DriftEntry, DriftReport } from "./drift-report.ts";
import { describeLastCall } from "./drift-text.ts";
import { viewDrift } from "./drift-view.ts";
import { formatShortValue } from "./markdown-values.ts";
import { formatCount } from "./quantities.ts";
import { viewRefresh } from "./refresh-view.ts";
import { Room } from "./room.ts";
import { codeSpan, tableCell } from "./sanitize-markdown.ts";

/** How a report is written as Markdown. */
export interface DriftMarkdownOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** The most characters (UTF-16 units) of all, at least `leastMarkdownChars`. */
  readonly maxChars: number;
}

/** What stands around the rows, at its longest: marker, headline, what was looked at, and what was left out. */
const frame = 1_500;

/**
 * The report for a pull request, an issue or a chat. The first line is the comment's marker. What does not fit into
 * `maxChars` is left out from the end of the table, and counted. Ends with a line feed. Pure.
 */
export function formatDriftMarkdown(report: DriftReport, { now, maxChars }: DriftMarkdownOptions): string {
  const { drift, refresh, workspace } = report;
  const head = drift.length === 0 ? "No drift" : `Drift: ${formatCount(drift.length)}`;
  const { checked, notChecked } = viewRefresh(refresh, now);
  const rows = new Room(maxChars - frame).fit(drift.map((entry) => formatRow(entry, now)));
  const table = rows.length === 0 ? [] : ["| | address | what | who |", "|---|---|---|---|", ...rows, ""];
  const left = drift.length - rows.length;
  return `${[
    commentMarker("drift", workspace),
    `### ${head} in ${codeSpan(workspace, 80)}`,
    "",
    ...table,
    ...(left === 0 ? [] : [formatLeftOut(left, maxChars), ""]),
    `${[checked, ...notChecked].join(". ")}.`,
  ].join("\n")}\n`;
}

function formatRow(entry: DriftEntry, now: number): string {
  const view = viewDrift(entry, now);
  const values = view.values.map(formatShortValue).join("<br>");
  const what = [view.note, values].filter((part) => part !== "").join("<br>");
  const who = describeLastCall(entry.last_call, now);
  const cells = [`\`${view.symbol}\``, codeSpan(view.address), what, `${view.evidence}; ${codeSpan(who)}`];
  return `| ${cells.map(tableCell).join(" | ")} |`;
}

function formatLeftOut(count: number, maxChars: number): string {
  return `**Left out** to stay within ${formatCount(maxChars)} characters: ${formatCount(count)} of what drifted. To see all: \`draftsync drift\`.`;
}
