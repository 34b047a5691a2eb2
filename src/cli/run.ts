import { CommanderError } from "commander";
import { DraftsyncError, messageOf } from "../model/errors.ts";
import { formatDiagnostics, formatError } from "../report/diagnostic-text.ts";
import type { Cli } from "./cli.ts";
import { CliError, DiagnosticsError } from "./cli-error.ts";
import { endProcess } from "./end-process.ts";
import type { ExitCode } from "./exit-code.ts";
import { exitCode, exitCodeOf } from "./exit-code.ts";
import { listenForInterrupts } from "./interrupts.ts";
import { makeProgram } from "./program.ts";
import type { Terminal } from "./terminal.ts";
import { makeTerminal } from "./terminal.ts";

/** Runs a command line and sets the process's exit code. Never throws. */
export async function run(args: readonly string[], version: string): Promise<void> {
  // The AWS SDK warns that its versions of next year need a newer Node; the one in the lockfile does not.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
  const terminal = makeTerminal(process.env);
  const interrupts = listenForInterrupts({
    signals: process,
    say: (text) => terminal.err(text),
    exit: endProcess,
  });
  try {
    const cli: Cli = {
      env: process.env,
      cwd: currentFolder(),
      terminal,
      signal: interrupts.drain,
      interrupts,
      end: (code) => {
        process.exitCode = code;
      },
    };
    await makeProgram(cli, version).parseAsync([...args], { from: "user" });
    if (interrupts.drain.aborted && process.exitCode === undefined) process.exitCode = exitCode.interrupted;
  } catch (error) {
    const code = report(error, terminal);
    // What the command said before it failed is more exact: that something is in doubt.
    if (interrupts.drain.aborted) process.exitCode ??= exitCode.interrupted;
    if (!process.exitCode) process.exitCode = code;
  } finally {
    interrupts.stop();
  }
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new CliError("the folder this was started in is gone", {
      code: "no-folder",
      hint: "Change to a folder that exists.",
      cause: error,
    });
  }
}

/** Diagnostics that are shown; with more than these nobody reads on. */
const mostShown = 200;

function report(error: unknown, terminal: Terminal): ExitCode {
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
