import { CommanderError } from "commander";
import type { Diagnostic, Severity } from "../model/diagnostic.ts";
import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { LogLevel } from "../model/log.ts";
import { formatPlace } from "../model/position.ts";
import { formatDiagnostics, formatError } from "../report/diagnostic-text.ts";
import { DiagnosticsError } from "./cli-error.ts";
import { type ExitCode, exitCode, exitCodeOf } from "./exit-code.ts";
import type { Terminal } from "./terminal.ts";

/** Diagnostics that are shown; with more than these nobody reads on. */
const mostShown = 200;

/** What errors are told to. */
export type ErrorTerminal = Pick<Terminal, "log" | "paintErr">;

/** Shows anything that was thrown on standard error; returns the exit code of a command that it ended. */
export function reportError(error: unknown, terminal: ErrorTerminal): ExitCode {
  // Commander has printed its help or its sentence already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.error;
  if (error instanceof DiagnosticsError) {
    const shown = error.diagnostics.slice(0, mostShown);
    tellDiagnostics(terminal, undefined, shown);
    const left = error.diagnostics.length - shown.length;
    if (left > 0) terminal.log({ level: "error", text: `\n… and ${left} more like these.\n` });
    const { message, code } = error;
    terminal.log({ level: "error", text: `\n${terminal.paintErr("error", message)}\n`, message, code });
    return exitCode.error;
  }
  if (error instanceof DraftsyncError) {
    tellError(error, terminal);
    return exitCodeOf(error);
  }
  tellError(asCodedError(error), terminal);
  if (process.env.DRAFTSYNC_DEBUG && error instanceof Error) {
    terminal.log({ level: "error", text: `${error.stack}\n`, code: "stack" });
  }
  return exitCode.error;
}

function tellError(error: DraftsyncError, { log, paintErr }: ErrorTerminal): void {
  const { message, code, hint, place, request } = error;
  const facts = {
    ...(hint === undefined ? {} : { hint }),
    ...(place === undefined ? {} : { place: formatPlace(place) }),
    ...(request === undefined ? {} : { request }),
  };
  log({ level: "error", text: `${formatError(error, paintErr)}\n`, message, code, facts });
}

const levels: Readonly<Record<Severity, LogLevel>> = { error: "error", warning: "warning", info: "info" };

/** Tells diagnostics on standard error, after a sentence in a paragraph of its own (`""`: after an empty line). */
export function tellDiagnostics(
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
      ...(place === undefined ? {} : { place: formatPlace(place) }),
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
  return new DraftsyncError(`this should not have happened: ${messageOf(error)}`, {
    code: "defect",
    hint: "It is a defect of draftsync. Please report it with the output of the same command under DRAFTSYNC_DEBUG=1.",
    cause: error,
  });
}
