import type { RefreshMode } from "../../model/observed.ts";
import { systemClock } from "../../model/ports.ts";
import { parseDuration } from "../../model/time.ts";
import type { WriterFlags } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { type LimitFlags, parseUntil } from "../runtime/run-limits.ts";

/** The flags of `draftsync reconcile`. */
export interface ReconcileFlags extends WriterFlags {
  /** Milliseconds. */
  readonly interval?: number;
  readonly listen?: string;
  readonly metricsFile?: string;
  readonly maxCalls?: number;
  /** The text of the flag: each run counts from its own start. */
  readonly until?: string;
  readonly json?: boolean;
  readonly refresh: "none" | RefreshMode;
}

/** How much a run refreshes; `undefined`: nothing. */
export function refreshOf({ refresh }: ReconcileFlags): RefreshMode | undefined {
  return refresh === "none" ? undefined : refresh;
}

/** How far a run that begins now may go. Throws {@link CliError} `invalid-flag`. */
export function limitFlagsOf({ maxCalls, until, interval }: ReconcileFlags): LimitFlags {
  if (until !== undefined && interval !== undefined && parseDuration(until) === undefined) {
    throw new CliError(`with --interval, --until must be a duration, not "${until}"`, {
      code: "invalid-flag",
      hint: "Each run starts operations for that long: --until 10m.",
    });
  }
  return {
    ...(maxCalls === undefined ? {} : { maxCalls }),
    ...(until === undefined ? {} : { until: parseUntil(until, systemClock.now()) }),
  };
}
