/** What the window says about one request. */
export interface RateVerdict {
  readonly admitted: boolean;
  /** How many more arrivals would be admitted right now. */
  readonly remaining: number;
  /** Milliseconds after which a request is admitted, if none comes before. 0 while `remaining` is positive. */
  readonly retryAfterMs: number;
}

/** A bound on arrivals over a true sliding window. */
export interface RateWindow {
  /** Counts a request at a monotonic time in milliseconds. Times never go back. */
  arrive(at: number): RateVerdict;
}

/**
 * Bounds arrivals to `limit` in any half-open window of `windowMs`. Refused arrivals count as well, so a client
 * that keeps knocking stays out. The verdict depends on the request `limit` places back and on nothing else:
 *
 *     limit 3    a . b c . . . d        d is admitted when d - a >= windowMs
 */
export function makeRateWindow(bound: { limit: number; windowMs: number }): RateWindow {
  const latest: number[] = [];
  return {
    arrive(at) {
      const before = latest.length < bound.limit ? undefined : latest.shift();
      latest.push(at);
      const inWindow = latest.filter((time) => at - time < bound.windowMs).length;
      const remaining = bound.limit - inWindow;
      const oldest = latest[0] ?? at;
      return {
        admitted: before === undefined || at - before >= bound.windowMs,
        remaining,
        retryAfterMs: remaining > 0 ? 0 : oldest + bound.windowMs - at,
      };
    },
  };
}
