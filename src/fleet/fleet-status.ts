import type { ReconcileStatus } from "../model/reconcile-result.ts";
import { isSuccess } from "../model/reconcile-result.ts";

/**
 * What an operator sees of a workspace, the worst first.
 *
 * | status | meaning |
 * |---|---|
 * | in_doubt | a call of its last run is in doubt: a person may have to settle it |
 * | failing | its last run failed, or waits for a person |
 * | behind | no run succeeded for twice its interval |
 * | never_run | no run has ended yet |
 * | ok | its last run succeeded |
 * | paused | it does not run until it is resumed |
 */
export const fleetStatuses = ["in_doubt", "failing", "behind", "never_run", "ok", "paused"] as const;

/** One of {@link fleetStatuses}. */
export type FleetStatus = (typeof fleetStatuses)[number];

/** How a run of a workspace ended; `crashed`: its process ended without a result. */
export type RunStatus = ReconcileStatus | "crashed";

/** What a status is made of; times in epoch milliseconds. */
export interface StatusBasis {
  readonly paused: boolean;
  readonly everyMs: number;
  /** When it was added, or resumed. */
  readonly since: number;
  readonly lastStatus: RunStatus | undefined;
  readonly lastSuccessAt: number | undefined;
}

/** The status at `now`. */
export function fleetStatusOf(
  { paused, everyMs, since, lastStatus, lastSuccessAt }: StatusBasis,
  now: number,
): FleetStatus {
  if (paused) return "paused";
  const isBehind = now - Math.max(lastSuccessAt ?? 0, since) > 2 * everyMs;
  if (lastStatus === "in_doubt") return "in_doubt";
  if (lastStatus === undefined) return isBehind ? "behind" : "never_run";
  if (isBad(lastStatus)) return "failing";
  return isBehind ? "behind" : "ok";
}

/** Whether a run counts as a failure: a run that was interrupted, or found its lock held, says nothing. */
export function isBad(status: RunStatus): boolean {
  if (status === "crashed") return true;
  return !isSuccess({ status }) && status !== "locked" && status !== "interrupted";
}
