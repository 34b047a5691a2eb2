import { existsSync, realpathSync } from "node:fs";
import { isAbsolute } from "node:path";
import { parseArgs } from "node:util";
import { quoteArgument } from "../model/address.ts";
import type { Cli } from "./cli.ts";
import { makeProgram } from "./program.ts";
import { CliError } from "./runtime/cli-error.ts";
import { exitCode } from "./runtime/exit-code.ts";
import { listenForInterrupts } from "./runtime/interrupts.ts";
import { reportError } from "./terminal/report-error.ts";
import { makeTerminal, type Terminal } from "./terminal/terminal.ts";

/** Runs a command line and sets the process's exit code. Never throws. */
export async function run(args: readonly string[], version: string): Promise<void> {
  // The AWS SDK warns that its versions of next year need a newer Node; the one in the lockfile does not.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
  const terminal = makeTerminal(process.env);
  logForNode(terminal);
  const interrupts = listenForInterrupts({
    signals: process,
    say: (text) => terminal.log({ level: "warning", text, code: "interrupted" }),
    exit: endProcess,
    leave: () => endProcess(Number(process.exitCode) || exitCode.interrupted),
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
    await makeProgram(cli, version, args[0]).parseAsync([...args], { from: "user" });
    if (interrupts.drain.aborted && process.exitCode === undefined) process.exitCode = exitCode.interrupted;
  } catch (error) {
    const code = reportError(error, terminal);
    // An exit code that the command set before it failed is more exact: something is in doubt.
    if (interrupts.drain.aborted) process.exitCode ??= exitCode.interrupted;
    if (!process.exitCode) process.exitCode = code;
  } finally {
    const place = terminal.hasNamedCommand ? placeOf(args) : "";
    if (place !== "") terminal.err(`note: add ${place} to the commands above\n`);
    interrupts.commandEnded();
  }
}

/** The flags that name a workspace, ledger or service other than those of the current folder: commands are printed without them. */
function placeOf(args: readonly string[]): string {
  if (args[0] === "fleet") return "";
  const flag = { type: "string" } as const;
  const options = { config: flag, state: flag, "base-url": flag };
  const { values } = parseArgs({ args: [...args], options, strict: false });
  return Object.keys(options)
    .flatMap((name) => {
      const value = values[name];
      return typeof value === "string" ? [`--${name} ${quoteArgument(value)}`] : [];
    })
    .join(" ");
}

/** Logs warnings of Node and uncaught errors like everything else; after an uncaught error the process ends. */
function logForNode(terminal: Terminal): void {
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) =>
    terminal.log({ level: "warning", text: `warning: ${message}\n`, code: name }),
  );
  process.on("uncaughtException", (error) => process.exit(reportError(error, terminal)));
}

/** As the shell names it, because a link in it may lead to another folder while a service runs. */
function currentFolder(): string {
  const { PWD } = process.env;
  try {
    const folder = process.cwd();
    return PWD !== undefined && isAbsolute(PWD) && existsSync(PWD) && realpathSync(PWD) === folder
      ? PWD
      : folder;
  } catch (error) {
    throw new CliError("the working directory no longer exists", {
      code: "no-folder",
      hint: "Change to an existing folder.",
      cause: error,
    });
  }
}

/**
 * Ends the process now. On exit Node waits for file operations and name lookups, which may hang for ever (a pipe without a
 * writer, a lost file server). So an interrupted process ends by SIGINT, which shells report as exit code 130, after its exit
 * listeners. Where the signal cannot end it (the first process of a container, Windows), and with another code, it exits with
 * `code`; the next signal ends it.
 */
function endProcess(code: number): never {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(signal);
  process.once("exit", () => {
    if (process.platform !== "win32" && code === exitCode.interrupted) process.kill(process.pid, "SIGINT");
  });
  process.exit(code);
}
