import type { ValueView } from "./change-view.ts";
import type { DriftReport } from "./drift-report.ts";
import { describeLastCall } from "./drift-text.ts";
import { viewDrift } from "./drift-view.ts";
import { codeSpan } from "./inert-markdown.ts";
import { viewRefresh } from "./refresh-view.ts";

/** Longer values are cut: a comment has no room for descriptions. */
const longestValue = 120;

/** The report for a pull request, an issue or a chat, at `now` (epoch milliseconds). Ends with a line feed. */
export function formatDriftMarkdown(report: DriftReport, now: number): string {
  const { drift, refresh, workspace } = report;
  const head = drift.length === 0 ? "No drift" : `Drift: ${drift.length}`;
  const { lookedAt, notLookedAt } = viewRefresh(refresh, now);
  const rows = drift.map((entry) => {
    const view = viewDrift(entry, now);
    const values = view.values.map(formatValue).join("<br>");
    const what = [view.note, values].filter((part) => part !== "").join("<br>");
    const who = describeLastCall(entry.last_call, now);
    return `| \`${view.symbol}\` | ${codeSpan(view.address)} | ${what} | ${view.evidence}; ${codeSpan(who)} |`;
  });
  const table = rows.length === 0 ? [] : ["| | address | what | who |", "|---|---|---|---|", ...rows, ""];
  return `${[
    `### ${head} in ${codeSpan(workspace)}`,
    "",
    ...table,
    `${[lookedAt, ...notLookedAt].join(". ")}.`,
  ].join("\n")}\n`;
}

function formatValue(value: ValueView): string {
  if (value.kind === "text") return `${codeSpan(value.name)} was changed`;
  const { name, before = "", after = "" } = value;
  return `${codeSpan(name)} ${codeSpan(cut(before))} → ${codeSpan(cut(after))}`;
}

function cut(text: string): string {
  return text.length <= longestValue ? text : `${text.slice(0, longestValue)}…`;
}
