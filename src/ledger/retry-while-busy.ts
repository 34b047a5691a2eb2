import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../model/ports.ts";

/** How long and after what {@link retryWhileBusy} tries again. */
export interface RetryWhileBusyOptions {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly busyTimeoutMs: number;
  /** Whether a failure may be over soon, and left nothing behind. */
  readonly passes: (error: unknown) => boolean;
  /** Since when this is being waited for, when that is earlier than the first try. */
  readonly since?: () => number | undefined;
}

/** Tries until nothing is in the way any more, or the timeout has passed. Rejects with the last failure. */
export async function retryWhileBusy<T>(
  { clock, busyTimeoutMs, passes, since = () => undefined }: RetryWhileBusyOptions,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const from = Math.min(startedAt, since() ?? startedAt);
      if (!passes(error) || clock.monotonic() >= from + busyTimeoutMs) throw error;
      // At random, so that processes which met once do not meet again.
      await pause(5 + Math.random() * 45);
    }
  }
}
