import { type Command, Option } from "commander";
import { durationAdvice, parseDuration } from "../model/time.ts";
import { CliError } from "./runtime/cli-error.ts";
import type { ExitCode } from "./runtime/exit-code.ts";
import type { ProcessInterrupts } from "./runtime/interrupts.ts";
import type { AdjustableTerminal } from "./terminal/terminal.ts";

/** The process, as every command sees it. */
export interface Cli {
  readonly env: NodeJS.ProcessEnv;
  /** Absolute. */
  readonly cwd: string;
  readonly terminal: AdjustableTerminal;
  /** Aborted by the first interrupt. */
  readonly signal: AbortSignal;
  /** Interrupts for calls of the service; `drain` is {@link signal}. */
  readonly interrupts: ProcessInterrupts;
  /** Sets the exit code. */
  end(code: ExitCode): void;
}

/** Adds one command (with its subcommands) to the program. Loads nothing heavy: that is for its action. */
export type DefineCommand = (program: Command, cli: Cli) => void;

/** The flags that say which workspace is meant; they come before the environment and the config. */
export interface WorkspaceFlags {
  readonly config?: string;
  readonly baseUrl?: string;
  readonly state?: string;
  readonly concurrency?: number;
}

/** Adds the flags of {@link WorkspaceFlags}. */
export function withWorkspaceFlags(command: Command): Command {
  return command
    .option("--config <file>", "config file (default: draftsync.yaml here or in a parent folder)")
    .option("--base-url <url>", "address of the service (overrides DRAFTSYNC_BASE_URL and the config)")
    .option(
      "--state <location>",
      "ledger: a file or postgres://… (overrides DRAFTSYNC_STATE and the config)",
    );
}

/** The flags of a command that takes the lock of its workspace. */
export interface WriterFlags extends WorkspaceFlags {
  /** How long to wait for another holder, milliseconds. */
  readonly lockTimeout?: number;
}

/** Adds the flags of {@link WriterFlags}. */
export function withWriterFlags(command: Command, byDefault = "do not wait"): Command {
  return withWorkspaceFlags(command).option(
    "--lock-timeout <duration>",
    `wait up to this long for the lock (default: ${byDefault})`,
    parseDurationFlag("--lock-timeout", "10m"),
  );
}

/** A commander option parser for a duration, milliseconds. The message shows `example` and names a missing unit. */
export function parseDurationFlag(flag: string, example: string, shortest?: { ms: number; text: string }) {
  return (text: string): number => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms >= (shortest?.ms ?? 0)) return ms;
    const wanted = shortest === undefined ? "a duration" : `a duration of ${shortest.text} or more`;
    const isNumber = /^\d+(\.\d+)?$/.test(text);
    const fault = isNumber ? ", which has no unit" : "";
    throw new CliError(`${flag} must be ${wanted}, not "${text}"${fault}`, {
      code: "invalid-flag",
      hint: `Use ${flag} ${isNumber ? "" : `${example}: `}${durationAdvice(text)}.`,
    });
  };
}

/** A commander option parser that collects a repeated option. */
export function collect(value: string, earlier: readonly string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}

/**
 * Adds `--format` with these formats, and a short form for each: a command reads `flags.json`, whichever was given. `about`
 * says what is printed.
 */
export function withFormat(
  command: Command,
  {
    formats = ["text", "json"],
    about = "output format",
  }: { formats?: readonly string[]; about?: string } = {},
): Command {
  command.addOption(new Option("--format <format>", about).choices(formats).default("text"));
  const shorts = formats.filter((format) => format !== "text");
  for (const short of shorts) {
    const others = shorts.filter((each) => each !== short);
    command.addOption(
      new Option(`--${short}`, `short for --format ${short}`).conflicts(["format", ...others]),
    );
  }
  // As a default, it is in no conflict with the format it comes from.
  return command.on("option:format", (format: string) =>
    command.setOptionValueWithSource(format, true, "default"),
  );
}

/** The largest number of calls in flight, by flag and config. */
export const maxConcurrency = 256;

/** The `--concurrency` flag of the commands that call the service. */
export function concurrencyOption(): Option {
  const about = "maximum number of calls in flight (overrides the config)";
  const range = { min: 1, max: maxConcurrency, wanted: `an integer from 1 to ${maxConcurrency}` };
  return new Option("--concurrency <n>", about).argParser(parseIntegerFlag("--concurrency", "4", range));
}

/** A commander option parser for an integer in a range; by default a positive one. The message shows `example`. */
export function parseIntegerFlag(
  flag: string,
  example: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER, wanted = "a positive integer" } = {},
) {
  return (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new CliError(`${flag} must be ${wanted}, not "${text}"`, {
      code: "invalid-flag",
      hint: `Use ${flag} ${example}.`,
    });
  };
}

/** The `--target` flag of the commands that plan. */
export function targetOption(): Option {
  const about =
    "only this address, draft id, manifest path or title; * in a path or title matches any text (repeatable)";
  return new Option("--target <address>", about).argParser(collect);
}

/** The text below a command's help. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}\n`;
}
