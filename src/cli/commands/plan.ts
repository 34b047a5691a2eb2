import { readTooLittle } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { untilText } from "../../model/time.ts";
import { waitingDrafts } from "../../model/waiting.ts";
import { checkSafety } from "../../plan/safety.ts";
import type { Cli, DefineCommand, WorkspaceFlags } from "../cli.ts";
import { concurrencyOption, examples, targetOption, withWorkspaceFlags } from "../cli.ts";
import { findRoot } from "../config.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { makePlan, type RefreshFlags, refreshModeOf, refreshOption } from "../runtime/planning.ts";
import { tooLittleRead } from "../runtime/run-plan.ts";
import { loadSavedPlan, savePlan } from "../runtime/saved-plan.ts";
import { inWorkspace, type Workspace } from "../runtime/workspace.ts";
import type { PlanFormatFlags } from "../terminal/formats.ts";
import { checkFormatFlags, showPlan, withPlanFormatFlags } from "../terminal/formats.ts";
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
    .option("--detailed-exitcode", "exit with 2 if there are changes, also those that wait")
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
  await inWorkspace(cli, flags, async (workspace) => {
    const progress = await openReporter(workspace);
    const { plan, recorded } = await makePlan(workspace, {
      targets: flags.target ?? [],
      refresh: refreshModeOf(flags, workspace.config),
      emit: progress.emit,
    }).finally(progress.stop);
    // A saved plan is consent to the deletes it shows, so they are no reason to refuse it.
    const refusals = checkSafety(plan, recorded, { ...workspace.config.safety, removedDrafts: "delete" });
    await showPlan(cli, plan, { ...flags, refusals, root: workspace.config.root });
    await notePause(workspace);
    if (flags.out !== undefined) await savePlan(cli, plan, flags.out);
    if (refusals.length > 0) printDiagnostics(cli.terminal, "Apply will refuse this plan:", refusals);
    const isLeft = plan.changes.length > 0 || waitingDrafts(plan).length > 0;
    if (flags.detailedExitcode && isLeft) cli.end(exitCode.changes);
    if (plan.changes.length > 0 || !readTooLittle(plan, { done: 0 })) return;
    printDiagnostics(cli.terminal, undefined, [tooLittleRead]);
    cli.end(exitCode.error);
  });
}

/** A shorter pause is over before a person has read the plan. */
const longPauseMs = 5_000;

/** Says until when the service has asked for no calls: an apply waits or stops until then. */
async function notePause({ cli, config, reader }: Workspace): Promise<void> {
  const pausedMs = await (await reader()).pausedMs();
  if (pausedMs < longPauseMs) return;
  const until = untilText(systemClock.now() + pausedMs);
  const isTooLong = pausedMs > config.service.profile.max_wait;
  const then = isTooLong ? "run apply after that" : "apply waits for it";
  const text = `note: the service asks for no calls ${until}; ${then}\n`;
  cli.terminal.log({ level: "info", text, code: "calls-paused" });
}

/** `draftsync show` */
export const defineShow: DefineCommand = (program, cli) => {
  withPlanFormatFlags(program.command("show"))
    .summary("show a saved plan")
    .description(
      "Shows a saved plan. Needs no config, ledger or network. With --format html, it includes pictures that have not changed since.",
    )
    .argument("<plan>", "file that `draftsync plan --out` wrote")
    .addHelpText(
      "after",
      examples(
        "draftsync show plan.json",
        "draftsync show plan.json --format json | jq .estimate",
        "draftsync show plan.json --format markdown | gh pr comment --body-file -",
        "draftsync show plan.json --format html > plan.html",
      ),
    )
    .action(async (file: string, flags: PlanFormatFlags) => {
      checkFormatFlags(flags);
      const root = await findRoot(cli.cwd);
      const plan = await loadSavedPlan(cli, file);
      await showPlan(cli, plan, { ...flags, root });
      // The other formats name it: the commands that a plan prints may be run in another workspace.
      if (flags.format === "text")
        cli.terminal.show(`Workspace: ${plan.workspace} at ${plan.service_origin}\n`);
    });
};
