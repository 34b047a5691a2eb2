import { existsSync, realpathSync } from "node:fs";
import { isAbsolute } from "node:path";
import { parseArgs } from "node:util";
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
    if (terminal.hasNamedCommand) remindOfPlace(terminal, args);
    interrupts.commandEnded();
  }
}

/** Commands are printed without the flags that name another workspace, ledger or service. A value may hold a password. */
function remindOfPlace(terminal: Terminal, args: readonly string[]): void {
  if (args[0] === "fleet") return;
  const flag = { type: "string" } as const;
  const options = { config: flag, state: flag, "base-url": flag };
  const { values } = parseArgs({ args: [...args], options, strict: false });
  const given = Object.keys(options).filter((name) => values[name] !== undefined);
  if (given.length === 0) return;
  const names = given.map((name) => `--${name}`).join(" and ");
  const text = `note: the commands above need the same ${names} as this one\n`;
  terminal.log({ level: "info", text, isResult: true });
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
