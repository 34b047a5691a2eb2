import type { RunTotals } from "./event.ts";

/**
 * How a round of `reconcile` ended.
 *
 * | status | says |
 * |---|---|
 * | ok | everything is as desired |
 * | held_back | everything that the policy allows is as desired |
 * | left | it stopped at its limit of calls or time; the next one goes on |
 * | failing | something failed, or the round could not be carried out at all |
 * | in_doubt | something is in doubt, or waits in a recovery file: for a person |
 * | refused | a safety limit refused the plan: for a person |
 * | locked | somebody else held the lock for longer than the round waits |
 * | interrupted | the process was told to end |
 */
export const roundStatuses = [
  "ok",
  "held_back",
  "left",
  "failing",
  "in_doubt",
  "refused",
  "locked",
  "interrupted",
] as const;

/** One of {@link roundStatuses}. */
export type RoundStatus = (typeof roundStatuses)[number];

/** A round that has ended. Holds no text from outside. */
export interface RoundEnd {
  readonly status: RoundStatus;
  readonly workspace: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** How long it took, the wait for the lock included, milliseconds. */
  readonly ms: number;
  /** Of its run; absent when nothing was begun. */
  readonly totals?: RunTotals;
  /** Changes that the policy holds back, by what would have to be allowed. */
  readonly heldBack?: Readonly<Record<string, number>>;
  /** Changes in doubt at its end; absent when that is not known. */
  readonly inDoubt?: number;
  /** Things that were seen to be otherwise than recorded; absent when nothing was looked at. */
  readonly drift?: number;
  /** Requests that looking at the service took; they are not in `totals`. */
  readonly lookCalls?: number;
  /** Of the error that ended it; stable, kebab-case. */
  readonly code?: string;
}

/** Whether a round did all that it was to do: the service and the ledger work, and nothing waits for a person. */
export function isSuccess({ status }: Pick<RoundEnd, "status">): boolean {
  return status === "ok" || status === "held_back" || status === "left";
}

/**
 * What people are told of a round; `undefined` when it says nothing about the workspace. That the next round goes on is no
 * news: `left` counts as `ok`.
 */
export function newsOf(status: RoundStatus): RoundStatus | undefined {
  if (status === "locked" || status === "interrupted") return undefined;
  return status === "left" ? "ok" : status;
}
