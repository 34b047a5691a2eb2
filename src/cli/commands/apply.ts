import { isBlocked } from "../../model/change.ts";
import type { Diagnostic } from "../../model/diagnostic.ts";
import type { EventSink } from "../../model/event.ts";
import type { Plan } from "../../model/plan.ts";
import type { Recorded } from "../../model/recorded.ts";
import { waitingDrafts } from "../../model/waiting.ts";
import { isNewLedger } from "../../plan/new-ledger.ts";
import type { LocationFinder } from "../../report/failures.ts";
import { plural } from "../../report/quantities.ts";
import type { Cli, DefineCommand, WriterFlags } from "../cli.ts";
import { concurrencyOption, examples, targetOption, withFormat, withWriterFlags } from "../cli.ts";
import { approve } from "../runtime/approval.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode, exitCodeOf } from "../runtime/exit-code.ts";
import { makeLocationFinder } from "../runtime/manifests.ts";
import { makePlan, type RefreshFlags, refreshModeOf, refreshOption } from "../runtime/planning.ts";
import { type LimitFlags, limitsOf, withLimitFlags } from "../runtime/run-limits.ts";
import type { SafetyFlags } from "../runtime/run-plan.ts";
import {
  announce,
  applyConsented,
  consentToPublish,
  isAsked,
  isNothing,
  reportTooFewCalls,
  reportWaiting,
  safetyRefusals,
} from "../runtime/run-plan.ts";
import { checkPlan, checkSavedPlan, describeProgress, loadSavedPlan } from "../runtime/saved-plan.ts";
import { inLockedWorkspace } from "../runtime/with-lock.ts";
import type { Workspace } from "../runtime/workspace.ts";
import { showPlan, showPlanSummary } from "../terminal/formats.ts";
import { printDiagnostics } from "../terminal/report-error.ts";
import { openReporter } from "../terminal/reporter.ts";

interface ApplyFlags extends WriterFlags, LimitFlags, RefreshFlags, SafetyFlags {
  readonly autoApprove?: boolean;
  readonly json?: boolean;
  readonly target?: readonly string[];
  readonly newLedger?: boolean;
}

/** `draftsync apply` */
export const defineApply: DefineCommand = (program, cli) => {
  withFormat(withLimitFlags(withWriterFlags(program.command("apply"))), {
    about: "output format; json: events, one object a line",
  })
    .summary("apply the changes")
    .description(
      "Applies a saved plan, or makes a plan and asks. The ledger stores the intent of every call before it is sent, and its " +
        "outcome before it is reported, so you can interrupt apply and run it again at any time.",
    )
    .argument("[plan]", "file that `draftsync plan --out` wrote")
    .option("--auto-approve", "do not ask for approval; required without a terminal")
    .addOption(concurrencyOption())
    .addOption(targetOption())
    .addOption(refreshOption())
    .option(
      "--max-deletes <percent>",
      "allow deleting up to this percentage of the recorded files",
      parsePercent,
    )
    .option("--new-ledger", "confirm once that nothing was published before this ledger")
    .option(
      "--remove-drafts",
      "delete the files of drafts, and forget duplicates, that are no longer declared",
    )
    .addHelpText(
      "after",
      examples(
        "draftsync apply                             plan, ask, apply",
        "draftsync apply plan.json --auto-approve    exactly the plan that was reviewed, in a pipeline",
        "draftsync apply --target drafts/48213       one draft only",
        "draftsync apply --new-ledger                 nothing was published before this ledger",
        "draftsync apply --auto-approve --until 6:00 stop at 6:00; the next run continues",
      ),
    )
    .action((file: string | undefined, flags: ApplyFlags) =>
      // Locked before the ledger is read: no other process may change it after the plan is made or checked.
      inLockedWorkspace(cli, { flags, command: "apply" }, (workspace) => applyLocked(workspace, file, flags)),
    );
};

function parsePercent(text: string): number {
  const percent = Number(text);
  if (text.trim() !== "" && percent >= 0 && percent <= 100) return percent;
  throw new CliError(`--max-deletes must be a number from 0 to 100, not "${text}"`, {
    code: "invalid-flag",
    hint: "Use --max-deletes 60.",
  });
}

async function applyLocked(workspace: Workspace, file: string | undefined, flags: ApplyFlags): Promise<void> {
  const { cli, config } = workspace;
  const { terminal } = cli;
  const prepared = await (file === undefined
    ? prepare(workspace, flags)
    : prepareSaved(workspace, file, flags));
  const { plan: reviewed, locationOf } = prepared;
  // A problem that prevents every call, such as a missing key, is reported before the plan.
  if (!reviewed.changes.every(isBlocked)) await workspace.connect(() => {});
  const asks = isAsked(cli, flags);
  const isSummary = file !== undefined && !asks;
  await present(workspace, prepared, { isSummary, flags });
  // A saved plan contains the deletes, and the question names them.
  const removeDrafts = file !== undefined || asks || flags.removeDrafts === true;
  const refusals = safetyRefusals(config, prepared, { ...flags, removeDrafts });
  if (refusals.length > 0) {
    printDiagnostics(terminal, "Refused; nothing was changed.", refusals);
    return cli.end(exitCode.refused);
  }
  const consent = await consentToPublish(cli, prepared, flags);
  const { plan } = consent;
  const approved = !cli.signal.aborted && (await isApproved(cli, plan, flags));
  if (cli.signal.aborted) return cli.end(exitCode.interrupted);
  if (!approved) return cli.end(exitCode.error);
  if (!isNothing(plan)) {
    // The question may have been open for hours.
    await prepared.check(workspace, prepared.whole);
    terminal.err("\n");
  }
  const progress = await openReporter(workspace, { json: flags.json, plan: reviewed, locationOf });
  let anyDone = false;
  const emit: EventSink = (event) => {
    anyDone ||= event.type === "change_finished" && event.outcome === "done";
    progress.emit(event);
  };
  try {
    const { exit, warnings, result } = await applyConsented(workspace, {
      reviewed,
      consent,
      limits: flags,
      emit,
    });
    if (result !== undefined) reportTooFewCalls(cli, result, flags);
    reportWaiting(cli, { exit, plan, whole: file === undefined ? undefined : prepared.whole });
    const further = [...unshownWarnings(plan, isSummary), ...warnings];
    if (further.length > 0) printDiagnostics(terminal, "", further);
    cli.end(warnings.length > 0 && exit === exitCode.done ? exitCode.refused : exit);
  } catch (error) {
    // The ledger failed during the run: what was done before is recorded, so something was changed.
    if (anyDone && exitCodeOf(error) === exitCode.error) cli.end(exitCode.failed);
    throw error;
  } finally {
    progress.stop();
  }
}

/** The totals of a saved plan do not have its warnings, and no further run helps without a person. */
function unshownWarnings(plan: Plan, isSummary: boolean): readonly Diagnostic[] {
  return isSummary ? waitingDrafts(plan, ["person"]) : [];
}

/** Shows what is going to be applied: the changes before a question, the totals of a saved plan without one. */
async function present(
  { cli }: Workspace,
  { plan: left, recorded, progress }: Prepared,
  { isSummary, flags: { json, newLedger } }: { readonly isSummary: boolean; readonly flags: ApplyFlags },
): Promise<void> {
  const plan = { ...left, new_ledger: !newLedger && isNewLedger(recorded, left.service_origin) };
  if (json) announce(cli, plan);
  if (progress !== undefined)
    cli.terminal.log({ level: "info", text: `${progress}\n`, isResult: json !== true });
  if (json || (progress !== undefined && plan.changes.length === 0)) return;
  await (isSummary ? showPlanSummary(cli, plan) : showPlan(cli, plan, { format: "text" }));
}

async function isApproved(cli: Cli, plan: Plan, flags: ApplyFlags): Promise<boolean> {
  if (isNothing(plan)) return true;
  const given = plan.changes.every(isBlocked) || flags.autoApprove;
  if (flags.json && !given) {
    throw new CliError("approval needs the plan, which --json does not show; nothing was changed", {
      code: "approval-needed",
      hint: "Add --auto-approve to apply without asking, or leave --json out.",
    });
  }
  return approve(cli, {
    given,
    question: questionFor(plan),
    to: "to apply",
    declined: "Not applied; nothing was changed.",
  });
}

interface Prepared {
  /** What is left to apply. */
  readonly plan: Plan;
  /** The unchanged plan. */
  readonly whole: Plan;
  /** Checks it again, before the first call. */
  readonly check: (workspace: Workspace, plan: Plan) => Promise<unknown>;
  /** What was done since a saved plan was made. */
  readonly progress?: string | undefined;
  readonly recorded: Recorded;
  readonly locationOf: LocationFinder;
}

async function prepare(workspace: Workspace, flags: ApplyFlags): Promise<Prepared> {
  const progress = await openReporter(workspace, { json: flags.json });
  const { plan, recorded, desired } = await makePlan(workspace, {
    targets: flags.target ?? [],
    refresh: refreshModeOf(flags, workspace.config),
    underLock: true,
    limits: limitsOf(flags),
    emit: progress.emit,
  }).finally(progress.stop);
  return { plan, whole: plan, check: checkPlan, recorded, locationOf: makeLocationFinder(desired) };
}

/** Only earlier runs of a saved plan may have changed what it is about. */
async function prepareSaved(workspace: Workspace, file: string, flags: ApplyFlags): Promise<Prepared> {
  const unfit =
    flags.target !== undefined ? "--target" : flags.refresh !== undefined ? "--refresh" : undefined;
  if (unfit !== undefined) {
    throw new CliError(`${unfit} cannot be used with a saved plan`, {
      code: "invalid-flag",
      hint: `Pass ${unfit} to \`draftsync plan --out FILE\` instead.`,
    });
  }
  const whole = await loadSavedPlan(workspace.cli, file);
  const checked = await checkSavedPlan(workspace, whole);
  const { plan, recorded } = checked;
  const progress = describeProgress(checked);
  // Without a question, the local files were hashed a moment ago.
  const check = flags.autoApprove ? checkPlan : checkSavedPlan;
  return { plan, whole, check, recorded, locationOf: () => undefined, progress };
}

function questionFor({ removed_drafts: removed }: Plan): string {
  if (removed.length === 0) return "\nApply these changes?";
  return `\nApply these changes, and delete the files of ${plural(removed.length, "draft")} that are no longer declared?`;
}
