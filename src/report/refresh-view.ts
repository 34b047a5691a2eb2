import type { RefreshSummary } from "../model/observed.ts";
import { describeAge } from "./provenance-text.ts";
import { formatCount, plural } from "./quantities.ts";

/** What was looked at, in sentences without a full stop. */
export interface RefreshView {
  /** `looked at 500 things in 503 calls`. */
  readonly lookedAt: string;
  /** What was not looked at, and why; empty when everything was. */
  readonly notLookedAt: readonly string[];
}

/** How a refresh is shown at `now`, epoch milliseconds. Pure. */
export function viewRefresh(refresh: RefreshSummary, now: number): RefreshView {
  const { looked_at, unreadable, calls, left, max_calls, attachments, oldest_unconfirmed } = refresh;
  const lookedAt = `looked at ${plural(looked_at, "thing")} in ${plural(calls, "call")}`;
  const oldest = oldest_unconfirmed === null ? "" : `, oldest ${describeAge(oldest_unconfirmed, now)}`;
  const budget = max_calls === null ? "interrupted" : `over the budget of ${plural(max_calls, "call")}`;
  return {
    lookedAt: unreadable === 0 ? lookedAt : `${lookedAt}; ${formatCount(unreadable)} could not be read`,
    notLookedAt: [
      ...(left > 0 ? [`not looked at: ${budget}; ${formatCount(left)} left${oldest}`] : []),
      ...(attachments === "none"
        ? [`files are taken from the ledger${oldest} (refresh.attachments: none)`]
        : []),
    ],
  };
}
