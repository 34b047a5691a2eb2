import { DraftsyncError } from "../../model/errors.ts";

/** Exit codes of the process. */
export const exitCode = {
  /** Done; also `plan` without `--detailed-exitcode`. */
  done: 0,
  /** Bad usage, a bad manifest, service or ledger out of reach; nothing was changed. Or the output could not be written. */
  error: 1,
  /** Changes are pending (`plan --detailed-exitcode`). */
  changes: 2,
  /** Some operations failed, the rest are done. */
  failed: 3,
  /** Something is in doubt, or waits in the recovery log. */
  inDoubt: 4,
  /** Refused by a safety limit. */
  refused: 5,
  /** The plan is stale, or another process holds the lock. */
  stale: 6,
  /** Stopped at its limit of calls or time; the next run continues. */
  deferred: 7,
  /** Interrupted; everything that was sent is accounted for. */
  interrupted: 130,
} as const;

/** One of {@link exitCode}. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

/** The exit code of a command whose output could not be written: 1, unless `code` reports something worse. */
export function exitCodeWithoutOutput(code: number): number {
  return code === exitCode.done || code === exitCode.changes ? exitCode.error : code;
}

/** Error codes that end a command with another exit code than 1. */
const codes: ReadonlyMap<string, ExitCode> = new Map([
  ["plan-stale", exitCode.stale],
  ["plan-altered", exitCode.stale],
  ["plan-of-another-workspace", exitCode.stale],
  ["plan-version", exitCode.stale],
  ["plan-source-changed", exitCode.stale],
  ["lock-held", exitCode.stale],
  ["lock-lost", exitCode.stale],
  ["outcome-not-recorded", exitCode.inDoubt],
  ["recovery-pending", exitCode.inDoubt],
  ["operation-in-doubt", exitCode.inDoubt],
  ["aborted", exitCode.interrupted],
  ["aborted-in-flight", exitCode.interrupted],
]);

/** The exit code that an error's code alone decides; `undefined` for all others. */
export function fixedExitCode(code: string): ExitCode | undefined {
  return codes.get(code);
}

/** The exit code of an error that ended a command. */
export function exitCodeOf(error: unknown): ExitCode {
  const known = error instanceof DraftsyncError ? fixedExitCode(error.code) : undefined;
  return known ?? exitCode.error;
}
