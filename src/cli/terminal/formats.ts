import { type Command, Option } from "commander";
import type { Diagnostic } from "../../model/diagnostic.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { markdownChars, minMarkdownChars } from "../../report/markdown.ts";
import type { Palette } from "../../report/palette.ts";
import { formatPlanSummary, formatPlanText, maxListedChanges } from "../../report/plan-text.ts";
import { viewPlan } from "../../report/plan-view.ts";
import { type Cli, parseIntegerFlag } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { ciSourceUrl } from "../runtime/this-process.ts";

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
      parseIntegerFlag(
        "--max-chars",
        "65000. A comment has at most 65536 characters on GitHub and 1000000 on GitLab",
        { min: minMarkdownChars, wanted: `an integer of at least ${minMarkdownChars}` },
      ),
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

/** Writes a result to standard output: on a terminal, long lines of text break between words. */
export function printFormat({ terminal }: Pick<Cli, "terminal">, format: string, text: string): void {
  if (format === "text") terminal.show(text);
  else terminal.out(text);
}

/** How a plan is shown. */
interface PlanOptions {
  readonly maxChars?: number;
  /** Why apply will refuse it, where that is known. */
  readonly refusals?: readonly Diagnostic[];
  /** The absolute folder of its workspace; without one, a page has no pictures. */
  readonly root?: string | undefined;
  readonly summary?: boolean;
  readonly sourceUrl?: string | undefined;
}

type FormatPlan = (plan: Plan, options: PlanOptions & { readonly paint: Palette }) => Promise<string>;

const formats = {
  text: async (plan, { paint, summary }) =>
    formatPlanText(viewPlan(plan, systemClock.now()), paint, { summary }),
  json: async (plan) => (await import("../../plan/saved-plan.ts")).formatPlanFile(plan),
  markdown: async (plan, { maxChars = markdownChars, refusals = [] }) => {
    const { formatPlanMarkdown } = await import("../../report/plan-markdown.ts");
    return formatPlanMarkdown(viewPlan(plan, systemClock.now()), { maxChars, refusals });
  },
  html: async (plan, { root, sourceUrl, refusals = [] }) => {
    const { makePlanPage } = await import("./plan-page.ts");
    return makePlanPage(plan, { root, sourceUrl, refusals });
  },
} satisfies Record<string, FormatPlan>;

/** The flags that {@link withPlanFormatFlags} adds. */
export type PlanFormatFlags = FormatFlags<keyof typeof formats> & {
  readonly summary?: boolean;
  readonly sourceUrl?: string;
};

/** Adds `--format`, with the formats of a plan, `--max-chars` and `--summary`. */
export function withPlanFormatFlags(command: Command): Command {
  return withFormatFlags(command, Object.keys(formats))
    .option("--summary", `one line a draft (default for more than ${maxListedChanges} changes)`)
    .option("--no-summary", "every change with its values")
    .option(
      "--source-url <url>",
      "page of the workspace's folder in the repository, for links to manifests in HTML (default: that of the CI job)",
      parseSourceUrl,
    );
}

function parseSourceUrl(text: string): string {
  if (/^https?:\/\/[^\s#?]+$/.test(text) && URL.canParse(text)) return text.replace(/\/+$/, "");
  throw new CliError(`--source-url must be an http or https address without ? and #, not "${text}"`, {
    code: "invalid-flag",
    hint: "Use --source-url https://github.com/OWNER/REPOSITORY/blob/main/shop.",
  });
}

/** Writes a plan to standard output. */
export async function showPlan(
  { env, terminal }: Cli,
  plan: Plan,
  { format, ...options }: PlanFormatFlags & PlanOptions,
): Promise<void> {
  const { root } = options;
  const sourceUrl = options.sourceUrl ?? (root === undefined ? undefined : ciSourceUrl(env, root));
  const text = await formats[format](plan, { ...options, sourceUrl, paint: terminal.paintOut });
  printFormat({ terminal }, format, text);
}

/** Writes the totals of a plan whose changes were reviewed before. */
export async function showPlanSummary({ terminal }: Cli, plan: Plan): Promise<void> {
  terminal.show(formatPlanSummary(viewPlan(plan, systemClock.now()), terminal.paintOut));
}
