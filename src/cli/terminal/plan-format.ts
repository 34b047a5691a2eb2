import type { Command } from "commander";
import { Option } from "commander";
import type { Diagnostic } from "../../model/diagnostic.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { markdownChars, minMarkdownChars } from "../../report/markdown-budget.ts";
import { formatPlanText } from "../../report/plan-text.ts";
import { viewPlan } from "../../report/plan-view.ts";
import type { Cli } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";

/** Flags that say how a plan is shown, or a report in some of these formats. */
export interface FormatFlags<Format = "text" | "json" | "markdown" | "html"> {
  readonly format: Format;
  readonly maxChars?: number;
}

/** Adds `--format`, with the formats that there are, and `--max-chars`. */
export function withFormatFlags(
  command: Command,
  formats: readonly FormatFlags["format"][] = ["text", "json", "markdown", "html"],
): Command {
  return command
    .addOption(new Option("--format <format>", "how to show it").choices(formats).default("text"))
    .option(
      "--max-chars <n>",
      `with --format markdown: shorten to this many characters (default: ${markdownChars})`,
      parseMaxChars,
    );
}

/** Refuses `--max-chars` where it would do nothing. Throws {@link CliError} `invalid-flag`. */
export function checkFormatFlags({ format, maxChars }: FormatFlags): void {
  if (maxChars === undefined || format === "markdown") return;
  throw new CliError(`--max-chars needs --format markdown, not ${format}`, {
    code: "invalid-flag",
    hint: "Remove --max-chars, or add --format markdown.",
  });
}

/** How a plan is shown. */
export interface Showing extends FormatFlags {
  /** Why apply will refuse it, where that is known. */
  readonly refusals?: readonly Diagnostic[];
  /** The absolute folder of its workspace; without one, a page has no pictures. */
  readonly root?: string | undefined;
}

/** Writes a plan to standard output. */
export async function showPlan(
  { terminal }: Cli,
  plan: Plan,
  { format, maxChars, refusals = [], root }: Showing,
): Promise<void> {
  if (format === "json") {
    const { formatPlanFile } = await import("../../plan/saved-plan.ts");
    return terminal.out(formatPlanFile(plan));
  }
  if (format === "html") {
    const { makePlanPage } = await import("./plan-page.ts");
    return terminal.out(await makePlanPage(plan, { root, refusals }));
  }
  const view = viewPlan(plan, systemClock.now());
  if (format === "markdown") {
    const { formatPlanMarkdown } = await import("../../report/plan-markdown.ts");
    return terminal.out(formatPlanMarkdown(view, { maxChars: maxChars ?? markdownChars, refusals }));
  }
  terminal.out(formatPlanText(view, terminal.paintOut));
}

function parseMaxChars(text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= minMarkdownChars) return Number(text);
  throw new CliError(`--max-chars must be an integer of at least ${minMarkdownChars}, not "${text}"`, {
    code: "invalid-flag",
    hint: "Use --max-chars 65000. A comment has at most 65536 characters on GitHub and 1000000 on GitLab.",
  });
}
