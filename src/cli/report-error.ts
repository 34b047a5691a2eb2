import { CommanderError } from "commander";
import { DraftsyncError, messageOf } from "../model/errors.ts";
import { formatDiagnostics, formatError } from "../report/diagnostic-text.ts";
import { DiagnosticsError } from "./cli-error.ts";
import { type ExitCode, exitCode, exitCodeOf } from "./exit-code.ts";
import type { Terminal } from "./terminal.ts";

/** Diagnostics that are shown; with more than these nobody reads on. */
const mostShown = 200;

/** Shows anything that was thrown on standard error; returns the exit code of a command that it ended. */
export function reportError(error: unknown, terminal: Pick<Terminal, "err" | "paintErr">): ExitCode {
  // Commander has printed its help or its sentence already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.error;
  const paint = terminal.paintErr;
  if (error instanceof DiagnosticsError) {
    const shown = error.diagnostics.slice(0, mostShown);
    terminal.err(`${formatDiagnostics(shown, paint)}\n\n`);
    const left = error.diagnostics.length - shown.length;
    if (left > 0) terminal.err(`… and ${left} more like these.\n\n`);
    terminal.err(`${paint("error", error.message)}\n`);
    return exitCode.error;
  }
  if (error instanceof DraftsyncError) {
    terminal.err(`${formatError(error, paint)}\n`);
    return exitCodeOf(error);
  }
  const known = asCodedError(error);
  terminal.err(`${formatError(known, paint)}\n`);
  if (process.env.DRAFTSYNC_DEBUG && error instanceof Error) terminal.err(`${error.stack}\n`);
  return exitCode.error;
}

/** Errors of parts that stand alone (the sandbox) bring a code and a hint; anything else is a defect. */
function asCodedError(error: unknown): DraftsyncError {
  if (error instanceof Error && "hint" in error && "code" in error) {
    const { code, hint } = error;
    if (typeof code === "string" && typeof hint === "string")
      return new DraftsyncError(error.message, { code, hint });
  }
  return new DraftsyncError(`this should not have happened: ${messageOf(error)}`, {
    code: "defect",
    hint: "It is a defect of draftsync. Please report it with the output of the same command under DRAFTSYNC_DEBUG=1.",
    cause: error,
  });
}
