import type { ApplyResult } from "../../apply/apply-plan.ts";
import type { CallShortfall, RunLimits } from "../../apply/run-budget.ts";
import { draftOf, isBlocked } from "../../model/change.ts";
import type { Diagnostic } from "../../model/diagnostic.ts";
import { type Event, type EventSink, eventFormatVersion } from "../../model/event.ts";
import { type Plan, readTooLittle } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import { waitingDrafts } from "../../model/waiting.ts";
import { excludeIrreversible, isNewLedger, maybePublishedWarnings } from "../../plan/new-ledger.ts";
import { checkSafety } from "../../plan/safety.ts";
import { plural } from "../../report/quantities.ts";
import type { Service } from "../../service/open-service.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { type ExitCode, exitCode } from "./exit-code.ts";
import { openTracker } from "./recovery.ts";
import { type LimitFlags, limitsOfRun } from "./run-limits.ts";
import type { Workspace } from "./workspace.ts";

/** Writes the first event of a run, also when there is nothing to do. */
export function announce(cli: Cli, { plan_id, workspace, summary, estimate }: Plan): void {
  const at = systemClock.now();
  const format_version = eventFormatVersion;
  writeEvent(cli, { type: "planned", format_version, at, plan_id, workspace, summary, estimate });
}

function writeEvent({ terminal }: Cli, event: Event): void {
  terminal.out(`${sanitizeJson(event)}\n`);
}

/** What a person allows beyond the config. */
export interface SafetyFlags {
  /** Percentage of the recorded files. */
  readonly maxDeletes?: number;
  readonly removeDrafts?: boolean;
}

/** Why the plan may not be applied; empty when it may. */
export function safetyRefusals(
  { safety }: Config,
  { plan, recorded }: { readonly plan: Plan; readonly recorded: Recorded },
  { maxDeletes, removeDrafts }: SafetyFlags,
): readonly Diagnostic[] {
  return checkSafety(plan, recorded, {
    maxDeletes: { ...safety.maxDeletes, percent: maxDeletes ?? safety.maxDeletes.percent },
    removedDrafts: removeDrafts ? "delete" : safety.removedDrafts,
  });
}

/** The part of a plan that is applied, and whether a person confirms the ledger with it. */
export interface Consent {
  readonly plan: Plan;
  /** What is left out, and how to include it. */
  readonly warnings: readonly Diagnostic[];
  /** The ledger records the confirmation when the plan is applied. */
  readonly confirms: boolean;
}

/** Whether apply asks a person. Events name no values, so with `--json` nobody would see what is to be approved. */
export function isAsked(
  { terminal }: Cli,
  { autoApprove, json }: { readonly autoApprove?: boolean; readonly json?: boolean },
): boolean {
  return terminal.interactive && !autoApprove && !json;
}

const newLedgerQuestion =
  "\nThis ledger is new or restored: it may lack products made before it or since its backup.\n" +
  'If it lacks none, type "yes" to publish; anything else leaves publishes and duplicates out: ';

/**
 * Leaves publishes and duplicates out of a plan while the ledger is new, unless a person confirms it by a flag or on the
 * terminal. The publish of a draft that was in use before the ledger is left out in any case. With `json`, writes an event
 * for each change that is left out.
 */
export async function consentToPublish(
  cli: Cli,
  { plan, recorded }: { readonly plan: Plan; readonly recorded: Recorded },
  flags: { readonly newLedger?: boolean; readonly autoApprove?: boolean; readonly json?: boolean },
): Promise<Consent> {
  const isNew = isNewLedger(recorded, plan.service_origin);
  const left = excludeIrreversible(plan, recorded, { isNew });
  let confirms = isNew && flags.newLedger === true;
  if (isNew && !confirms && left.warnings.length > 0 && isAsked(cli, flags)) {
    const answer = await cli.terminal.ask(newLedgerQuestion, cli.signal);
    confirms = answer?.trim() === "yes";
  }
  const { plan: narrowed, warnings } = confirms
    ? excludeIrreversible(plan, recorded, { isNew: false })
    : left;
  if (flags.json) announceExcluded(cli, { plan, kept: new Set(narrowed.changes), warnings });
  // It is a part of the plan that was shown or reviewed.
  return { plan: { ...narrowed, plan_id: plan.plan_id }, warnings, confirms };
}

function announceExcluded(
  cli: Cli,
  { plan, kept, warnings }: Pick<Consent, "plan" | "warnings"> & { readonly kept: ReadonlySet<unknown> },
): void {
  const [warning] = warnings;
  if (warning === undefined) return;
  for (const change of plan.changes) {
    if (kept.has(change)) continue;
    const { address, title, declared_at, action } = change;
    writeEvent(cli, {
      type: "change_excluded",
      at: systemClock.now(),
      address,
      ...(title === undefined ? {} : { title }),
      ...(declared_at === undefined ? {} : { declared_at }),
      action,
      code: warning.code,
    });
  }
}

/** Whether there is nothing to run. Drift is recorded by a run, too, without a question. */
export function isNothing({ changes, drift = [] }: Plan): boolean {
  return changes.every(isBlocked) && drift.length === 0;
}

/** The error of a run for which `readTooLittle` holds. */
export const tooLittleRead: Diagnostic = {
  severity: "error",
  code: "nothing-checked",
  message: "most of what was to be checked could not be read",
  hint: "The warnings of the plan name the cause. Run the command again, or with --refresh none to go by what is recorded.",
};

/** Input of {@link applyConsented}. */
export interface ConsentedPlan {
  /** The plan before anything was left out. */
  readonly reviewed: Plan;
  readonly consent: Consent;
  readonly limits: LimitFlags;
  readonly emit: EventSink;
}

/** How an apply ended; without a `result`, there was nothing to run. */
export interface EndedApply {
  readonly exit: ExitCode;
  /** What was left out, and drafts that turned out to be in use before the ledger. */
  readonly warnings: readonly Diagnostic[];
  readonly result?: ApplyResult;
}

/** Runs the part of a plan that a person consented to. The plan must have passed its safety checks. */
export async function applyConsented(
  workspace: Workspace,
  { reviewed, consent, limits, emit }: ConsentedPlan,
): Promise<EndedApply> {
  const { plan, confirms } = consent;
  const confirmedAt = confirms ? systemClock.now() : undefined;
  if (confirmedAt !== undefined) await (await workspace.ledger()).confirm(confirmedAt);
  if (isNothing(plan)) {
    const isLeft = waitingDrafts(plan).length > 0;
    const exit = plan.changes.length > 0 ? exitCode.inDoubt : isLeft ? exitCode.deferred : exitCode.done;
    return ofChecked({ exit, warnings: consent.warnings }, readTooLittle(plan, { done: 0 }));
  }
  // A file that was attached before is evidence about the publish of its draft.
  const maybePublished = new Map<number, number>();
  const reported = new Set(consent.warnings.map(({ address }) => address));
  const watched: EventSink = (event) => {
    if (event.type === "change_finished") {
      if (event.was_attached) maybePublished.set(draftOf(event), event.at);
      if (event.failure?.code === "maybe-published") reported.add(event.address);
    }
    emit(event);
  };
  const service = await workspace.connect(watched);
  const left = limitsOfRun(limits, plan, service.callCount());
  const options = { plan, limits: left, service, emit: watched, command: "apply", confirmedAt };
  const result = await runPlan(workspace, options);
  const unreported = reviewed.changes.filter(({ address }) => !reported.has(address));
  const warnings = [...consent.warnings, ...maybePublishedWarnings(unreported, { maybePublished })];
  const end = { exit: exitCodeOfRun(result, plan), warnings, result };
  return ofChecked(end, readTooLittle(plan, result.totals));
}

/** Of a run that is complete as far as it knows, but could not read most of what it was to check, that is an error. */
function ofChecked(end: EndedApply, isBlind: boolean): EndedApply {
  if (!isBlind || end.exit !== exitCode.done) return end;
  return { ...end, exit: exitCode.error, warnings: [...end.warnings, tooLittleRead] };
}

/** Input of {@link runPlan}. */
export interface RunPlanOptions {
  readonly plan: Plan;
  readonly limits: RunLimits;
  readonly service: Service;
  readonly emit: EventSink;
  /** As it is typed, for the ledger's history. */
  readonly command: string;
  readonly confirmedAt?: number | undefined;
}

/** Runs a plan until it is complete, interrupted, or at its limits. */
export async function runPlan(workspace: Workspace, options: RunPlanOptions): Promise<ApplyResult> {
  const { applyPlan } = await import("../../apply/apply-plan.ts");
  const { service: settings } = workspace.config;
  return applyPlan({
    ...options,
    ledger: await workspace.ledger(),
    outcomes: await openTracker(workspace, options.command),
    storage: options.service.storage,
    clock: systemClock,
    signal: workspace.cli.signal,
    settleDelayMs: settings.profile.settle_delay,
    concurrency: settings.concurrency,
  });
}

/**
 * Notes that a run left changes to the next one, and how to get there. After a failure, its hint says what comes next. `whole` is
 * a saved plan: it has them only when an earlier run of it did not come to them.
 */
export function reportWaiting(
  { terminal }: Cli,
  { exit, plan, whole }: { readonly exit: ExitCode; readonly plan: Plan; readonly whole: Plan | undefined },
): void {
  const waiting = waitingDrafts(plan, ["change", "check"]);
  const [first] = waiting;
  if (first === undefined || (exit !== exitCode.done && exit !== exitCode.deferred)) return;
  const drafts = `${plural(waiting.length, "draft")} ${waiting.length === 1 ? "has" : "have"}`;
  const isOlder = whole !== undefined && waitingDrafts(whole).length > 0;
  const again = whole === undefined ? "run apply again" : "apply the plan again";
  const next = isOlder ? "make a new plan and apply it" : again;
  terminal.log({ level: "info", text: `note: ${drafts} changes that wait; ${next}\n`, code: first.code });
}

/** Whether a later run has too few calls as well. */
function isTooSmall(shortfall: CallShortfall | undefined): shortfall is CallShortfall {
  return shortfall !== undefined && shortfall.needed > shortfall.limit;
}

/** Whether the limit was too low for any operation: runs with the same limit would never end. */
export function isTooFewCalls({ shortfall, totals }: ApplyResult): boolean {
  return isTooSmall(shortfall) && totals.calls === 0 && totals.done === 0;
}

/**
 * Reports a limit for which {@link isTooFewCalls} holds, and, next to what was done or failed, one in which something that is left
 * fits in no run.
 */
export function reportTooFewCalls(
  { terminal }: Cli,
  result: ApplyResult,
  { maxCalls = 0 }: LimitFlags,
): void {
  if (!isTooSmall(result.shortfall)) return;
  const { needed, limit } = result.shortfall;
  const level = isTooFewCalls(result) ? "error" : "warning";
  const used = maxCalls - limit;
  const spent = used > 0 ? `the refresh used ${used}, and ` : "";
  const what = level === "error" ? "too small" : "too small for what is left";
  const text =
    `${level}: --max-calls ${maxCalls} is ${what}: ${spent}the next operation takes ${needed}.\n` +
    `  Use --max-calls ${used > 0 ? 2 * needed : needed} or more.\n`;
  terminal.log({ level, text, code: "max-calls-too-few" });
}

/** The exit code of a command that ran the plan. */
export function exitCodeOfRun(result: ApplyResult, plan: Plan): ExitCode {
  const { totals, stopped, hasChanged, refused, unsettled } = result;
  if (stopped === "interrupted") return exitCode.interrupted;
  if (totals.in_doubt + unsettled > 0) return exitCode.inDoubt;
  if (!hasChanged && typeof stopped === "object") return exitCode.error;
  const isRefused = refused > 0 && totals.failed === refused && stopped === undefined;
  if (totals.failed + totals.skipped > 0) return isRefused ? exitCode.refused : exitCode.failed;
  if (stopped === undefined) return waitingDrafts(plan).length > 0 ? exitCode.deferred : exitCode.done;
  return isTooFewCalls(result) ? exitCode.error : exitCode.deferred;
}
