/** When the next round begins: what it is reckoned from. Times in milliseconds. */
export interface Pace {
  readonly intervalMs: number;
  /** How long the round took that has just ended. */
  readonly tookMs: number;
  /** Rounds that failed since one that did not. */
  readonly failures: number;
  /** In [0, 1). */
  readonly random: number;
}

/** Share of the interval by which a round may begin later, so that those of many workspaces do not begin together. */
const jitter = 0.1;

/** Failures make a round wait up to so many intervals, but no longer than an hour for their sake. */
const mostIntervals = 8;
const longestBackoffMs = 3_600_000;

/**
 * How long to wait, after the end of a round, for the next one to begin. Rounds begin an interval apart; one that takes
 * longer delays the next, and none overlap. Each failure in a row doubles the distance.
 *
 * ```
 *   |<──────── interval ────────>|~ jitter ~|           |<──── 2 intervals after a failure ────>|~~~|
 *   [ round ]                               [ round ]   [ fails ]                                   [ round ]
 * ```
 */
export function waitForNext({ intervalMs, tookMs, failures, random }: Pace): number {
  const longest = Math.max(intervalMs, Math.min(mostIntervals * intervalMs, longestBackoffMs));
  const distance = Math.min(intervalMs * 2 ** Math.min(failures, 10), longest);
  return Math.max(0, Math.round(distance + random * jitter * intervalMs - tookMs));
}

/**
 * Whether rounds succeed as often as they should: one has within two intervals, or within twice the time that the last
 * round took when that is longer. `sinceSuccessMs` is absent until one has.
 */
export function isReady({
  sinceSuccessMs,
  intervalMs,
  lastTookMs,
}: {
  readonly sinceSuccessMs: number | undefined;
  readonly intervalMs: number;
  readonly lastTookMs: number;
}): boolean {
  if (sinceSuccessMs === undefined) return false;
  return sinceSuccessMs <= 2 * (1 + jitter) * Math.max(intervalMs, lastTookMs);
}
