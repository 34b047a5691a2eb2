import { createHash } from "node:crypto";

/** A fixed share of an interval, in [0, 1), by which the runs of a workspace come later than those of others. */
export function phaseOf(name: string): number {
  return createHash("sha256").update(name).digest().readUInt32BE() / 2 ** 32;
}

/**
 * The first time after `after` at which the workspace is due; epoch milliseconds. Slots lie an interval apart, each workspace's at
 * its own phase, so that not all runs begin at once.
 */
export function nextSlot(name: string, { after, everyMs }: { after: number; everyMs: number }): number {
  const phaseMs = Math.floor(phaseOf(name) * everyMs);
  return (Math.floor((after - phaseMs) / everyMs) + 1) * everyMs + phaseMs;
}
