import type { Command } from "commander";
import { Option } from "commander";
import { markdownChars, minMarkdownChars } from "../../report/markdown.ts";
import type { Cli } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";

/** `--format` and `--max-chars`. */
export interface FormatFlags<Format extends string> {
  readonly format: Format;
  /** For Markdown. */
  readonly maxChars?: number;
}

/** Adds `--format` with these choices, and `--max-chars`. */
export function withFormatFlags(command: Command, formats: readonly string[]): Command {
  return command
    .addOption(new Option("--format <format>", "output format").choices(formats).default("text"))
    .addOption(new Option("--json", "short for --format json").implies({ format: "json" }))
    .option(
      "--max-chars <n>",
      `with --format markdown: shorten to this many characters (default: ${markdownChars})`,
      parseMaxChars,
    );
}

/** Refuses `--max-chars` and `--summary` where they would do nothing. Throws {@link CliError} `invalid-flag`. */
export function checkFormatFlags({
  format,
  maxChars,
  summary,
}: FormatFlags<string> & { readonly summary?: boolean }): void {
  if (summary !== undefined && format !== "text") {
    throw new CliError(`--summary and --no-summary need --format text, not ${format}`, {
      code: "invalid-flag",
      hint: "Remove the flag.",
    });
  }
  if (maxChars === undefined || format === "markdown") return;
  throw new CliError(`--max-chars needs --format markdown, not ${format}`, {
    code: "invalid-flag",
    hint: "Remove --max-chars, or add --format markdown.",
  });
}

function parseMaxChars(text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= minMarkdownChars) return Number(text);
  throw new CliError(`--max-chars must be an integer of at least ${minMarkdownChars}, not "${text}"`, {
    code: "invalid-flag",
    hint: "Use --max-chars 65000. A comment has at most 65536 characters on GitHub and 1000000 on GitLab.",
  });
}

/** Writes a result to standard output: on a terminal, long lines of text break between words. */
export function printFormat({ terminal }: Pick<Cli, "terminal">, format: string, text: string): void {
  if (format === "text") terminal.show(text);
  else terminal.out(text);
}
