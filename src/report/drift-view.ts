import type { Drift } from "../model/drift.ts";
import type { RefreshSummary } from "../model/observed.ts";
import type { ValueView } from "./change-view.ts";
import { attributeValues } from "./change-view.ts";
import { describeAge, describeAgo, describeConfirmed, formatCount, plural } from "./quantities.ts";

/** One difference between what is recorded and what was observed. Text from outside is not yet made inert. */
export interface DriftView {
  readonly type: Drift["type"];
  /** `~` another value, `-` gone, `+` there and not recorded. */
  readonly symbol: string;
  readonly address: string;
  readonly title?: string | undefined;
  /** `manifests/sea-serpent.yaml:7` */
  readonly declaredAt?: string | undefined;
  /** What happened, in a few words. */
  readonly note: string;
  /** How the record was known, and when the difference was observed. */
  readonly evidence: string;
  readonly values: readonly ValueView[];
}

/** How a drift is shown at `now`, epoch milliseconds. Pure. */
export function viewDrift(drift: Drift, now: number): DriftView {
  const { type, address, title, declared_at: declaredAt, confirmed, observed_at, attributes } = drift;
  const known = confirmed === null ? "not recorded" : `last ${describeConfirmed(confirmed, now)}`;
  const evidence = `${known}; checked ${describeAgo(observed_at, now)}`;
  const shared = { type, address, title, declaredAt, evidence, values: [] };
  switch (drift.type) {
    case "changed":
      return {
        ...shared,
        symbol: "~",
        note: "changed outside draftsync",
        values: attributeValues(drift.before, drift.after, attributes),
      };
    case "gone":
      return { ...shared, symbol: "-", note: "not attached any more" };
    case "found":
      return { ...shared, symbol: "+", note: `attached already, as file ${drift.after.file_id}` };
    case "product_gone":
      return { ...shared, symbol: "-", note: `product ${drift.before.product_id} is not there any more` };
  }
}

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

function reasonsOf({ calls, max_calls, deferred, attachments }: RefreshSummary): string[] {
  const isSpent = max_calls !== null && calls >= max_calls;
  const budget = isSpent ? `over the budget of ${plural(max_calls, "call")}` : "interrupted";
  return [
    ...(deferred > 0 ? [`${budget}; ${formatCount(deferred)} left`] : []),
    ...(attachments === "none" ? ["files are only checked by probe (refresh.attachments: none)"] : []),
  ];
}
