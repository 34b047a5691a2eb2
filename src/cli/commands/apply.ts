import { isBlocked } from "../../model/change.ts";
import type { EventSink } from "../../model/event.ts";
import type { Plan } from "../../model/plan.ts";
import type { Recorded } from "../../model/recorded.ts";
import { isNewLedger } from "../../plan/new-ledger.ts";
import { checkSafety } from "../../plan/safety.ts";
import type { LocationFinder } from "../../report/failures.ts";
import type { Cli, DefineCommand, WriterFlags } from "../cli.ts";
import { concurrencyOption, examples, targetOption, withFormat, withWriterFlags } from "../cli.ts";
import { approve } from "../runtime/approval.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode, exitCodeOf } from "../runtime/exit-code.ts";
import { assertSourcesUnchanged, checkPlan, describeProgress } from "../runtime/fresh-plan.ts";
import { confirmLedger, consentToPublish, endWithConsent, watchEvidence } from "../runtime/new-ledger.ts";
import { makeLocationFinder, makePlan } from "../runtime/planning.ts";
import { type RefreshFlags, refreshModeOf, refreshOption } from "../runtime/refresh.ts";
import { type LimitFlags, limitsOf, reportTooFewCalls, withLimitFlags } from "../runtime/run-limits.ts";
import { announce, exitCodeOfRun, reportWaiting, runPlan } from "../runtime/run-plan.ts";
import { withLock } from "../runtime/with-lock.ts";
import type { Workspace } from "../runtime/workspace.ts";
import { inWorkspace } from "../runtime/workspace.ts";
import { showPlan } from "../terminal/plan-format.ts";
import { printDiagnostics } from "../terminal/report-error.ts";
import { openReporter } from "../terminal/reporter.ts";
import { showPlanSummary } from "./plan.ts";
import { loadSavedPlan } from "./show.ts";

interface ApplyFlags extends WriterFlags, LimitFlags, RefreshFlags {
  readonly autoApprove?: boolean;
  readonly json?: boolean;
  readonly target?: readonly string[];
  readonly maxDeletes?: number;
  readonly removeDrafts?: boolean;
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
    .action((file: string | undefined, flags: ApplyFlags) => runApply(cli, file, flags));
};

function parsePercent(text: string): number {
  const percent = Number(text);
  if (text.trim() !== "" && percent >= 0 && percent <= 100) return percent;
  throw new CliError(`--max-deletes must be a number from 0 to 100, not "${text}"`, {
    code: "invalid-flag",
    hint: "Use --max-deletes 60.",
  });
}

async function runApply(cli: Cli, file: string | undefined, flags: ApplyFlags): Promise<void> {
  await inWorkspace(cli, flags, (workspace) =>
    // Before the ledger is read: nobody may change what the plan is made from, or checked against.
    withLock(cli, { workspace, command: "apply", waitMs: flags.lockTimeout }, () =>
      applyLocked(cli, workspace, { file, flags }),
    ),
  );
}

async function applyLocked(
  cli: Cli,
  workspace: Workspace,
  { file, flags }: { file: string | undefined; flags: ApplyFlags },
): Promise<void> {
  const prepared =
    file === undefined
      ? await prepare(cli, workspace, flags)
      : await prepareSaved(cli, workspace, { file, flags });
  const { whole, locationOf } = prepared;
  // What keeps the service from being called, such as a missing key, is reported before a plan that nobody can apply.
  if (!prepared.plan.changes.every(isBlocked)) await workspace.connect(() => {});
  const isReviewed = file !== undefined && (flags.autoApprove === true || !cli.terminal.interactive);
  await present(cli, prepared, { isReviewed, flags });
  if (await refuse(cli, workspace, { ...prepared, flags, removedDrafts: consentTo(cli, file, flags) }))
    return cli.end(exitCode.refused);
  const consent = await consentToPublish(cli, prepared, flags);
  const { plan } = consent;
  const isNothing = plan.changes.every(isBlocked);
  // Drift is recorded without a question: it describes the service and changes nothing there.
  if (isNothing && (plan.drift ?? []).length === 0) {
    if (consent.confirms) await confirmLedger(workspace);
    return endWithConsent(cli, consent, plan.changes.length > 0 ? exitCode.inDoubt : exitCode.done);
  }
  const progress = await openReporter(cli, {
    config: workspace.config,
    json: flags.json,
    plan: prepared.plan,
    locationOf,
  });
  let anyDone = false;
  const evidence = watchEvidence(prepared.plan, consent.warnings);
  const emit: EventSink = (event) => {
    evidence.emit(event);
    anyDone ||= event.type === "change_finished" && event.outcome === "done";
    progress.emit(event);
  };
  try {
    const service = await workspace.connect(emit);
    const approved = await approve(cli, {
      given: isNothing || flags.autoApprove,
      question: questionFor(plan),
      to: "to apply",
      declined: "Not applied; nothing was changed.",
    });
    if (cli.signal.aborted) return cli.end(exitCode.interrupted);
    if (!approved) return cli.end(exitCode.error);
    const limits = limitsOf(flags, service.callCount());
    // The question may have been open for hours.
    await checkPlan(workspace, whole);
    if (consent.confirms) await confirmLedger(workspace);
    cli.terminal.err("\n");
    const result = await runPlan(cli, workspace, { plan, limits, service, emit, command: "apply" });
    reportTooFewCalls(cli, result, flags);
    reportWaiting(cli, plan);
    const warnings = [...consent.warnings, ...(await evidence.warnings())];
    endWithConsent(cli, { warnings }, exitCodeOfRun(result, plan));
  } catch (error) {
    // A ledger that fails half way: what was done before is recorded, so it is not that nothing was changed.
    if (anyDone && exitCodeOf(error) === exitCode.error) cli.end(exitCode.failed);
    throw error;
  } finally {
    progress.stop();
  }
}

/** Shows what is going to be applied: the changes before a question, the totals of a saved plan without one. */
async function present(
  cli: Cli,
  { plan: left, recorded, progress }: Prepared,
  { isReviewed, flags }: { readonly isReviewed: boolean; readonly flags: ApplyFlags },
): Promise<void> {
  const { json, newLedger } = flags;
  const plan = { ...left, new_ledger: !newLedger && isNewLedger(recorded, left.service_origin) };
  if (json) announce(cli, plan);
  if (progress !== undefined)
    cli.terminal.log({ level: "info", text: `${progress}\n`, isResult: json !== true });
  if (json || (progress !== undefined && plan.changes.length === 0)) return;
  await (isReviewed ? showPlanSummary(cli, plan) : showPlan(cli, plan, { format: "text" }));
}

interface Prepared {
  /** What is left to apply. */
  readonly plan: Plan;
  /** The unchanged plan, which is checked again before the first call. */
  readonly whole: Plan;
  /** What earlier runs of a saved plan did. */
  readonly progress?: string;
  readonly recorded: Recorded;
  readonly locationOf: LocationFinder;
}

async function prepare(cli: Cli, workspace: Workspace, flags: ApplyFlags): Promise<Prepared> {
  const refresh = refreshModeOf(flags, workspace.config);
  const progress = await openReporter(cli, { config: workspace.config, json: flags.json });
  const { plan, recorded, desired } = await makePlan(cli, workspace, {
    targets: flags.target ?? [],
    ...(refresh === undefined ? {} : { refresh }),
    underLock: true,
    limits: limitsOf(flags),
    emit: progress.emit,
  }).finally(progress.stop);
  return { plan, whole: plan, recorded, locationOf: makeLocationFinder(desired) };
}

/** Applies a saved plan exactly, or refuses: only earlier runs of the plan may have changed what it is about. */
async function prepareSaved(
  cli: Cli,
  workspace: Workspace,
  { file, flags }: { file: string; flags: ApplyFlags },
): Promise<Prepared> {
  const unfit =
    flags.target !== undefined ? "--target" : flags.refresh !== undefined ? "--refresh" : undefined;
  if (unfit !== undefined) {
    throw new CliError(`${unfit} cannot be used with a saved plan`, {
      code: "invalid-flag",
      hint: `Pass ${unfit} to \`draftsync plan --out FILE\` instead.`,
    });
  }
  const whole = await loadSavedPlan(cli, file);
  const checked = await checkPlan(workspace, whole);
  await assertSourcesUnchanged(whole, workspace.config.root);
  const progress = describeProgress(checked);
  const { plan, recorded } = checked;
  return {
    plan,
    whole,
    recorded,
    locationOf: () => undefined,
    ...(progress === undefined ? {} : { progress }),
  };
}

/**
 * Whether a person consents to deleting the files of drafts that are no longer declared: by a saved plan, which contains the
 * deletes, by a flag, or by answering the question that names them.
 */
function consentTo(
  { terminal }: Cli,
  file: string | undefined,
  { removeDrafts, autoApprove }: ApplyFlags,
): "delete" | undefined {
  const isAsked = terminal.interactive && !autoApprove;
  return file !== undefined || removeDrafts || isAsked ? "delete" : undefined;
}

function questionFor({ removed_drafts: removed }: Plan): string {
  if (removed.length === 0) return "\nApply these changes?";
  const drafts = removed.length === 1 ? "1 draft" : `${removed.length} drafts`;
  return `\nApply these changes, and delete the files of ${drafts} that are no longer declared?`;
}

interface Refusing {
  readonly plan: Plan;
  readonly recorded: Recorded;
  readonly flags: ApplyFlags;
  /** Absent: as the config says. */
  readonly removedDrafts: "delete" | undefined;
}

async function refuse(
  { terminal }: Cli,
  { config }: Workspace,
  { plan, recorded, flags, removedDrafts }: Refusing,
): Promise<boolean> {
  const { maxDeletes } = config.safety;
  const refusals = checkSafety(plan, recorded, {
    maxDeletes: { ...maxDeletes, percent: flags.maxDeletes ?? maxDeletes.percent },
    removedDrafts: removedDrafts ?? config.safety.removedDrafts,
  });
  if (refusals.length === 0) return false;
  printDiagnostics(terminal, "Refused; nothing was changed.", refusals);
  return true;
}
