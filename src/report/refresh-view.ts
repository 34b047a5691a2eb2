import type { RefreshSummary } from "../model/observed.ts";
import { describeAge } from "./provenance-text.ts";
import { formatCount, plural } from "./quantities.ts";

/** What a refresh checked, in sentences without a full stop. */
export interface RefreshView {
  /** `Checked 500 resources (503 API calls)`. */
  readonly checked: string;
  /** How many recorded resources were not checked, and why; empty when all were. */
  readonly notChecked: readonly string[];
}

/** How a refresh is shown at `now`, epoch milliseconds. Pure. */
export function viewRefresh(refresh: RefreshSummary, now: number): RefreshView {
  const { checked, unreadable, calls, not_checked, oldest_unconfirmed } = refresh;
  const shown = `Checked ${plural(checked, "resource")} (${plural(calls, "API call")})`;
  const oldest = oldest_unconfirmed === null ? "" : `, oldest ${describeAge(oldest_unconfirmed, now)}`;
  const reasons = reasonsOf(refresh).join("; ");
  const isReported = not_checked > 0 && (reasons !== "" || not_checked > unreadable);
  const count = isReported ? `${formatCount(not_checked)} not checked${oldest}` : "";
  return {
    checked: unreadable === 0 ? shown : `${shown}; ${formatCount(unreadable)} could not be read`,
    notChecked: [[count, reasons].filter((part) => part !== "").join(": ")].filter((line) => line !== ""),
  };
}

function reasonsOf({ max_calls, deferred, attachments }: RefreshSummary): string[] {
  const budget = max_calls === null ? "interrupted" : `over the budget of ${plural(max_calls, "call")}`;
  return [
    ...(deferred > 0 ? [`${budget}; ${formatCount(deferred)} left`] : []),
    ...(attachments === "none" ? ["files are only checked by probe (refresh.attachments: none)"] : []),
  ];
}
