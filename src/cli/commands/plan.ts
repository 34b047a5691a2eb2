import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf } from "../../model/errors.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { readFormer } from "../../model/replace-file.ts";
import { untilText } from "../../model/time.ts";
import { checkSafety } from "../../plan/safety.ts";
import { formatPlanSummary } from "../../report/plan-text.ts";
import { viewPlan } from "../../report/plan-view.ts";
import type { Cli, DefineCommand, WorkspaceFlags } from "../cli.ts";
import { concurrencyOption, examples, targetOption, withWorkspaceFlags } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { makePlan } from "../runtime/planning.ts";
import { type RefreshFlags, refreshModeOf, refreshOption } from "../runtime/refresh.ts";
import type { Workspace } from "../runtime/workspace.ts";
import { inWorkspace } from "../runtime/workspace.ts";
import { checkFormatFlags } from "../terminal/format-flags.ts";
import { type PlanFormatFlags, showPlan, withPlanFormatFlags } from "../terminal/plan-format.ts";
import { printDiagnostics } from "../terminal/report-error.ts";
import { openReporter } from "../terminal/reporter.ts";

interface PlanFlags extends WorkspaceFlags, RefreshFlags, PlanFormatFlags {
  readonly out?: string;
  readonly detailedExitcode?: boolean;
  readonly target?: readonly string[];
}

/** `draftsync plan` */
export const definePlan: DefineCommand = (program, cli) => {
  withPlanFormatFlags(withWorkspaceFlags(program.command("plan")))
    .summary("show what apply would change")
    .description(
      "Shows what apply would change and how many calls it takes. Compares the manifests with the ledger; with --refresh, or " +
        "`refresh` in the config, it checks the service first. Changes nothing.",
    )
    .option("--out <file>", "save the plan, to apply exactly what was reviewed")
    .option("--detailed-exitcode", "exit with 2 if there are changes")
    .addOption(targetOption())
    .addOption(concurrencyOption())
    .addOption(refreshOption())
    .addHelpText(
      "after",
      examples(
        "draftsync plan",
        "draftsync plan --summary                    one line a draft",
        "draftsync plan --out plan.json && draftsync apply plan.json",
        "draftsync plan --target drafts/48213 --format json | jq .summary",
        "draftsync plan --format markdown > plan.md   a comment for the pull request",
        "draftsync plan --format html > plan.html    a page for a browser, in one file",
        "draftsync plan --refresh full               check everything at the service",
      ),
    )
    .action((flags: PlanFlags) => runPlan(cli, flags));
};

async function runPlan(cli: Cli, flags: PlanFlags): Promise<void> {
  checkFormatFlags(flags);
  await inWorkspace(
    cli,
    flags,
    async (workspace) => {
      const refresh = refreshModeOf(flags, workspace.config);
      const progress = await openReporter(cli, { config: workspace.config });
      const { plan, recorded } = await makePlan(cli, workspace, {
        targets: flags.target ?? [],
        ...(refresh === undefined ? {} : { refresh }),
        emit: progress.emit,
      }).finally(progress.stop);
      // A saved plan is consent to the deletes it shows, so they are no reason to refuse it.
      const refusals = checkSafety(plan, recorded, { ...workspace.config.safety, removedDrafts: "delete" });
      await showPlan(cli, plan, { ...flags, refusals, root: workspace.config.root });
      await notePause(cli, workspace);
      if (flags.out !== undefined) await savePlan(cli, plan, flags.out);
      if (refusals.length > 0) printDiagnostics(cli.terminal, "Apply will refuse this plan:", refusals);
      if (flags.detailedExitcode && plan.changes.length > 0) cli.end(exitCode.changes);
    },
    { onlyReads: true },
  );
}

/** Writes what a plan comes to; for one whose changes were reviewed before. */
export async function showPlanSummary({ terminal }: Cli, plan: Plan): Promise<void> {
  terminal.show(formatPlanSummary(viewPlan(plan, systemClock.now()), terminal.paintOut));
}

/** A shorter pause is over before a person has read the plan. */
const longPauseMs = 5_000;

/** Says until when the service has asked for no calls: an apply waits or stops until then. */
async function notePause({ terminal }: Cli, workspace: Workspace): Promise<void> {
  const pausedMs = await (await workspace.reader()).pausedMs();
  if (pausedMs < longPauseMs) return;
  const until = untilText(systemClock.now() + pausedMs);
  const isTooLong = pausedMs > workspace.config.service.profile.max_wait;
  const then = isTooLong ? "run apply after that" : "apply waits for it";
  const text = `note: the service asks for no calls ${until}; ${then}\n`;
  terminal.log({ level: "info", text, code: "calls-paused" });
}

async function savePlan({ terminal, cwd }: Cli, plan: Plan, out: string): Promise<void> {
  const { formatPlanFile } = await import("../../plan/saved-plan.ts");
  const file = resolve(cwd, out);
  if (await isOtherFile(file)) {
    throw new CliError(`${out} is there already, and is no saved plan; it was left as it is`, {
      code: "plan-not-saved",
      hint: "Name another file, or remove this one.",
    });
  }
  try {
    await writeFile(file, formatPlanFile(plan), { mode: 0o600 });
  } catch (error) {
    throw new CliError(`the plan cannot be saved: ${messageOf(error)}`, {
      code: "plan-not-saved",
      hint: "Name a file in a writable folder.",
      cause: error,
    });
  }
  terminal.err(`Saved. To apply exactly this plan: draftsync apply ${out}\n`);
}

/** Whether it is a file, such as a manifest, that does not begin as a saved plan does. One that cannot be read is none. */
async function isOtherFile(file: string): Promise<boolean> {
  const text = await readFormer(file);
  return text !== "" && !/^\{\s*"format_version":/.test(text);
}
