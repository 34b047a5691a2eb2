import type { DriftEntry, DriftReport } from "./drift-report.ts";
import { describeLastCall } from "./drift-text.ts";
import { viewDrift } from "./drift-view.ts";
import { formatLeftOut, MarkdownBudget } from "./markdown-budget.ts";
import { formatName, formatShortValue } from "./markdown-values.ts";
import { formatCount } from "./quantities.ts";
import { viewRefresh } from "./refresh-view.ts";
import { codeSpan, commentMarker, tableCell } from "./sanitize-markdown.ts";

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
