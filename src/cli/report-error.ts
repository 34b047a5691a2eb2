import { CommanderError } from "commander";
import { DraftsyncError, messageOf } from "../model/errors.ts";
import { formatDiagnostics, formatError } from "../report/diagnostic-text.ts";
import { DiagnosticsError } from "./cli-error.ts";
import { type ExitCode, exitCode, exitCodeOf } from "./exit-code.ts";
import type { Terminal } from "./terminal.ts";

/** Diagnostics that are shown; with more than these nobody reads on. */
const mostShown = 200;

/** Codes of which a page says no more than the message. */
const selfEvident: ReadonlySet<string> = new Set([
  "aborted",
  "bad-flag",
  "stopped",
  "unknown-code",
  "unknown-command",
]);

/**
 * Shows anything that was thrown on standard error; returns the exit code of a command that it ended. A person at a
 * terminal is told where more stands about it; a log is not made longer by that.
 */
export function reportError(
  error: unknown,
  terminal: Pick<Terminal, "err" | "paintErr" | "liveErr">,
): ExitCode {
  // Commander has printed its help or its sentence already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.error;
  const paint = terminal.paintErr;
  if (error instanceof DiagnosticsError) {
    const shown = error.diagnostics.slice(0, mostShown);
    terminal.err(`${formatDiagnostics(shown, paint)}\n\n`);
    const left = error.diagnostics.length - shown.length;
    if (left > 0) terminal.err(`… and ${left} more like these.\n\n`);
    terminal.err(`${paint("error", error.message)}\n`);
    const worst = shown.find(({ severity }) => severity === "error");
    if (worst !== undefined) tellMore(worst.code, terminal);
    return exitCode.error;
  }
  if (error instanceof DraftsyncError) {
    terminal.err(`${formatError(error, paint)}\n`);
    tellMore(error.code, terminal);
    return exitCodeOf(error);
  }
  const known = asCodedError(error);
  terminal.err(`${formatError(known, paint)}\n`);
  tellMore(known.code, terminal);
  if (process.env.DRAFTSYNC_DEBUG && error instanceof Error) terminal.err(`${error.stack}\n`);
  return exitCode.error;
}

function tellMore(
  code: string,
  { err, paintErr, liveErr }: Pick<Terminal, "err" | "paintErr" | "liveErr">,
): void {
  if (liveErr && !selfEvident.has(code)) err(`${paintErr("muted", `  more:  draftsync explain ${code}`)}\n`);
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
