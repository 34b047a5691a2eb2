import type { Command } from "commander";
import type { Diagnostic } from "../../model/diagnostic.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { maxListedChanges } from "../../report/draft-lines.ts";
import { markdownChars } from "../../report/markdown-budget.ts";
import type { Palette } from "../../report/palette.ts";
import { formatPlanText } from "../../report/plan-text.ts";
import { viewPlan } from "../../report/plan-view.ts";
import type { Cli } from "../cli.ts";
import { type FormatFlags, withFormatFlags } from "./format-flags.ts";

/** How a plan is shown. */
interface PlanOptions {
  readonly maxChars?: number;
  /** Why apply will refuse it, where that is known. */
  readonly refusals?: readonly Diagnostic[];
  /** The absolute folder of its workspace; without one, a page has no pictures. */
  readonly root?: string | undefined;
  readonly summary?: boolean;
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
  html: async (plan, { root, refusals = [] }) => {
    const { makePlanPage } = await import("./plan-page.ts");
    return makePlanPage(plan, { root, refusals });
  },
} satisfies Record<string, FormatPlan>;

/** The flags that {@link withPlanFormatFlags} adds. */
export type PlanFormatFlags = FormatFlags<keyof typeof formats> & { readonly summary?: boolean };

/** Adds `--format`, with the formats of a plan, `--max-chars` and `--summary`. */
export function withPlanFormatFlags(command: Command): Command {
  return withFormatFlags(command, Object.keys(formats))
    .option("--summary", `one line a draft (default for more than ${maxListedChanges} changes)`)
    .option("--no-summary", "every change with its values");
}

/** Writes a plan to standard output. */
export async function showPlan(
  { terminal }: Cli,
  plan: Plan,
  { format, ...options }: PlanFormatFlags & PlanOptions,
): Promise<void> {
  terminal.out(await formats[format](plan, { ...options, paint: terminal.paintOut }));
}
