/** When the next round begins. Times in milliseconds. */
export interface Pace {
  readonly intervalMs: number;
  /** How long the round took that has just ended. */
  readonly tookMs: number;
  /** In [0, 1). */
  readonly random: number;
}

/** Share of the interval by which a round may begin later, so that those of many workspaces do not begin together. */
const jitter = 0.1;

/**
 * How long to wait, after the end of a round, for the next one to begin. Rounds begin an interval apart, also after
 * failures: an outage must not outlast itself. A round that takes longer delays the next, and none overlap.
 *
 * ```
 *   |<──────── interval ────────>|~ jitter ~|
 *   [ round ]                               [ round ]
 * ```
 */
export function waitForNext({ intervalMs, tookMs, random }: Pace): number {
  return Math.max(0, Math.round(intervalMs + random * jitter * intervalMs - tookMs));
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
