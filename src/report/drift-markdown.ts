import type { DriftReport } from "./drift-report.ts";
import { describeLastCall } from "./drift-text.ts";
import { viewDrift } from "./drift-view.ts";
import { codeSpan, tableCell } from "./inert-markdown.ts";
import { formatShortValue } from "./markdown-values.ts";
import { viewRefresh } from "./refresh-view.ts";

/** The report for a pull request, an issue or a chat, at `now` (epoch milliseconds). Ends with a line feed. */
export function formatDriftMarkdown(report: DriftReport, now: number): string {
  const { drift, refresh, workspace } = report;
  const head = drift.length === 0 ? "No drift" : `Drift: ${drift.length}`;
  const { lookedAt, notLookedAt } = viewRefresh(refresh, now);
  const rows = drift.map((entry) => {
    const view = viewDrift(entry, now);
    const values = view.values.map(formatShortValue).join("<br>");
    const what = [view.note, values].filter((part) => part !== "").join("<br>");
    const who = describeLastCall(entry.last_call, now);
    const cells = [`\`${view.symbol}\``, codeSpan(view.address), what, `${view.evidence}; ${codeSpan(who)}`];
    return `| ${cells.map(tableCell).join(" | ")} |`;
  });
  const table = rows.length === 0 ? [] : ["| | address | what | who |", "|---|---|---|---|", ...rows, ""];
  return `${[
    `### ${head} in ${codeSpan(workspace)}`,
    "",
    ...table,
    `${[lookedAt, ...notLookedAt].join(". ")}.`,
  ].join("\n")}\n`;
}
