import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../model/ports.ts";

/** How long and after what {@link patiently} tries again. */
export interface Patience {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly patience: number;
  /** Whether a failure may be over soon, and left nothing behind. */
  readonly passes: (error: unknown) => boolean;
}

/** Tries until nothing is in the way any more, or patience has ended. Rejects with the last failure. */
export async function patiently<T>(
  { clock, patience, passes }: Patience,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = clock.monotonic() + patience;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!passes(error) || clock.monotonic() >= deadline) throw error;
      // At random, so that processes which met once do not meet again.
      await pause(5 + Math.random() * 45);
    }
  }
}
