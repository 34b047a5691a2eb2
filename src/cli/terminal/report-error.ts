import { CommanderError } from "commander";
import type { Diagnostic, Severity } from "../../model/diagnostic.ts";
import { DraftsyncError, messageOf } from "../../model/errors.ts";
import type { LogLevel } from "../../model/log.ts";
import { formatLocation } from "../../model/source-location.ts";
import { formatDiagnostics, formatError } from "../../report/diagnostic-text.ts";
import { DiagnosticsError } from "../runtime/cli-error.ts";
import { type ExitCode, exitCode, exitCodeOf } from "../runtime/exit-code.ts";
import type { Terminal } from "./terminal.ts";

/** Diagnostics that are shown; the rest are counted. */
const maxShown = 200;

/** Where errors are printed. On a terminal each names `draftsync explain CODE`; logs stay shorter. */
export type ErrorTerminal = Pick<Terminal, "log" | "paintErr" | "live">;

/** Codes of which a page says no more than the message. */
const selfEvident: ReadonlySet<string> = new Set([
  "aborted",
  "invalid-flag",
  "stopped",
  "unknown-code",
  "unknown-command",
]);

/** Shows anything that was thrown on standard error; returns the exit code of a command that it ended. */
export function reportError(error: unknown, terminal: ErrorTerminal): ExitCode {
  // Commander has printed its help or its sentence already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.error;
  if (error instanceof DiagnosticsError) {
    const shown = error.diagnostics.slice(0, maxShown);
    printDiagnostics(terminal, undefined, shown);
    const left = error.diagnostics.length - shown.length;
    if (left > 0) terminal.log({ level: "error", text: `\n… and ${left} more.\n` });
    const { message, code } = error;
    const worst = shown.find(({ severity }) => severity === "error");
    const more = worst === undefined ? "" : whereMore(worst.code, terminal);
    terminal.log({
      level: "error",
      text: `\n${terminal.paintErr("error", message)}\n${more}`,
      message,
      code,
    });
    return exitCode.error;
  }
  if (error instanceof DraftsyncError) {
    printError(error, terminal);
    return exitCodeOf(error);
  }
  printError(asCodedError(error), terminal);
  if (process.env.DRAFTSYNC_DEBUG && error instanceof Error) {
    terminal.log({ level: "error", text: `${error.stack}\n`, code: "stack" });
  }
  return exitCode.error;
}

function printError(error: DraftsyncError, terminal: ErrorTerminal): void {
  const { message, code, details, hint, place, request } = error;
  const facts = {
    ...(details.length === 0 ? {} : { details }),
    ...(hint === undefined ? {} : { hint }),
    ...(place === undefined ? {} : { place: formatLocation(place) }),
    ...(request === undefined ? {} : { request }),
  };
  const text = `${formatError(error, terminal.paintErr)}\n${whereMore(code, terminal)}`;
  terminal.log({ level: "error", text, message, code, facts });
}

function whereMore(code: string, { live, paintErr }: ErrorTerminal): string {
  if (live === undefined || selfEvident.has(code)) return "";
  return `${paintErr("muted", `  more:  draftsync explain ${code}`)}\n`;
}

const levels: Readonly<Record<Severity, LogLevel>> = { error: "error", warning: "warning", info: "info" };

/** Prints diagnostics on standard error, after a sentence in its own paragraph (`""`: after an empty line). */
export function printDiagnostics(
  { log, paintErr }: ErrorTerminal,
  sentence: string | undefined,
  diagnostics: readonly Diagnostic[],
): void {
  const severities = diagnostics.map(({ severity }) => severity);
  const heaviest = (["error", "warning"] as const).find((severity) => severities.includes(severity));
  const level = levels[heaviest ?? "info"];
  if (sentence !== undefined) log({ level, text: sentence === "" ? "\n" : `\n${sentence}\n\n` });
  diagnostics.forEach((diagnostic, at) => {
    const { severity, message, code, hint, address, place } = diagnostic;
    const facts = {
      ...(hint === undefined ? {} : { hint }),
      ...(address === undefined ? {} : { address }),
      ...(place === undefined ? {} : { place: formatLocation(place) }),
    };
    const text = `${at === 0 ? "" : "\n"}${formatDiagnostics([diagnostic], paintErr)}\n`;
    log({ level: levels[severity], text, message, code, facts });
  });
}

/** Errors of parts that stand alone (the sandbox) bring a code and a hint; anything else is a defect. */
function asCodedError(error: unknown): DraftsyncError {
  if (error instanceof Error && "hint" in error && "code" in error) {
    const { code, hint } = error;
    if (typeof code === "string" && typeof hint === "string")
      return new DraftsyncError(error.message, { code, hint });
  }
  return new DraftsyncError(`internal error: ${messageOf(error)}`, {
    code: "defect",
    hint: "This is a defect of draftsync. Please report it with the output of the same command under DRAFTSYNC_DEBUG=1.",
    cause: error,
  });
}
