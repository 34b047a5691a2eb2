import type { DriftEntry, DriftReport, LastCall } from "./drift-report.ts";
import { viewDrift } from "./drift-view.ts";
import type { Palette } from "./palette.ts";
import { formatDriftItem, formatRefresh } from "./plan-text.ts";
import { describeAgo } from "./provenance-text.ts";
import { plural } from "./quantities.ts";
import { viewRefresh } from "./refresh-view.ts";
import { sanitizeLine } from "./sanitize-text.ts";

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
