import { DraftsyncError } from "../model/errors.ts";

/** What the process ends with. */
export const exitCode = {
  /** Done; also `plan` without `--detailed-exitcode`. */
  done: 0,
  /** Bad usage, a bad manifest, service or ledger out of reach; nothing was changed. */
  error: 1,
  /** Changes are pending (`plan --detailed-exitcode`). */
  changes: 2,
  /** Some operations failed, the rest are done. */
  failed: 3,
  /** Something is in doubt. */
  inDoubt: 4,
  /** Refused by a safety limit. */
  refused: 5,
  /** The plan is stale, or the lock is held. */
  stale: 6,
  /** Interrupted; everything that was sent is accounted for. */
  interrupted: 130,
} as const;

/** One of {@link exitCode}. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

const staleCodes = new Set([
  "plan-stale",
  "plan-altered",
  "plan-of-another-workspace",
  "plan-version",
  "plan-source-changed",
]);

/** The exit code of an error that ended a command. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof DraftsyncError && staleCodes.has(error.code) ? exitCode.stale : exitCode.error;
}
