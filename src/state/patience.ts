import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../model/ports.ts";

/** How long and after what {@link patiently} tries again. */
export interface Patience {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly patience: number;
  /** Whether a failure may be over soon, and left nothing behind. */
  readonly passes: (error: unknown) => boolean;
  /** Since when this is being waited for, when that is earlier than the first try. */
  readonly since?: () => number | undefined;
}

/** Tries until nothing is in the way any more, or patience has ended. Rejects with the last failure. */
export async function patiently<T>(
  { clock, patience, passes, since = () => undefined }: Patience,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const from = Math.min(startedAt, since() ?? startedAt);
      if (!passes(error) || clock.monotonic() >= from + patience) throw error;
      // At random, so that processes which met once do not meet again.
      await pause(5 + Math.random() * 45);
    }
  }
}
