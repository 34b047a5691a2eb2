import { newRunId } from "../../apply/context.ts";
import type { StateStore } from "../../ledger/open-ledger.ts";
import { isBlocked } from "../../model/change.ts";
import { DraftsyncError } from "../../model/errors.ts";
import type { EventSink } from "../../model/event.ts";
import type { RefreshMode } from "../../model/observed.ts";
import { type Plan, readTooLittle } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import type { ReconcileResult, ReconcileStatus } from "../../model/reconcile-result.ts";
import { waitingDrafts } from "../../model/waiting.ts";
import { excludeIrreversible, isNewLedger } from "../../plan/new-ledger.ts";
import { excludeByPolicy, excludeRemoved } from "../../plan/policy.ts";
import { formatDiagnostics } from "../../report/diagnostic-text.ts";
import type { ReconcileMetrics } from "../../report/metrics.ts";
import { formatPlanText } from "../../report/plan-text.ts";
import { viewPlan } from "../../report/plan-view.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { type ExitCode, exitCode, exitCodeOf } from "../runtime/exit-code.ts";
import { makeLocationFinder } from "../runtime/manifests.ts";
import { makePlan, type PlannedState } from "../runtime/planning.ts";
import { type LimitFlags, limitsOf, limitsOfRun } from "../runtime/run-limits.ts";
import {
  announce,
  exitCodeOfRun,
  isTooFewCalls,
  reportTooFewCalls,
  runPlan,
  safetyRefusals,
  tooLittleRead,
} from "../runtime/run-plan.ts";
import { withLock } from "../runtime/with-lock.ts";
import { inWorkspaceOf, type Workspace } from "../runtime/workspace.ts";
import { printDiagnostics } from "../terminal/report-error.ts";
import { openReporter } from "../terminal/reporter.ts";
import { ledgerAgeOf, ReconcileTally } from "./tally.ts";

/** Input of {@link reconcile}. */
export interface ReconcileRequest {
  readonly config: Config;
  /** Why the config could not be read again: the run fails with it. `config` is that of the last run. */
  readonly failure?: unknown;
  readonly limits: LimitFlags;
  /** How long it waits for the lock, milliseconds; absent: as the config says. */
  readonly lockTimeout?: number | undefined;
  /** How much of the service is checked first; absent: nothing. */
  readonly refresh?: RefreshMode | undefined;
  /** Events to standard output, one JSON object a line. */
  readonly json?: boolean | undefined;
  readonly metrics: ReconcileMetrics;
  /** Of a service: what has not changed since its last run is not shown again. */
  readonly news?: ChangeFilter | undefined;
  /** Of a service that may be one of several; absent when the run must not rely on those of the others. */
  readonly replicas?: Replicas | undefined;
}

/** How a replica recognizes the runs of the others. */
export interface Replicas {
  readonly intervalMs: number;
  /** Ids of the runs of this process. */
  readonly ownRuns: ReadonlySet<string>;
}

/** Filters texts that were shown last of their kind. */
export class ChangeFilter {
  readonly #last = new Map<string, string>();

  /** Whether a text is worth showing again; an empty one means that there is none of the kind any more. */
  isNew(kind: string, text: string): boolean {
    const known = this.#last.get(kind) ?? "";
    this.#last.set(kind, text);
    return text !== "" && text !== known;
  }
}

/** A run that has ended, and the exit code of a command after it. */
export interface EndedReconcile {
  readonly end: ReconcileResult;
  readonly exitCode: ExitCode;
  /** What ended it; not shown yet. */
  readonly error?: unknown;
}

/** The name of the command in the ledger, in its lock and its history. */
const command = "reconcile";

/** The error code of a ledger that belongs to another workspace or service. */
export const ofAnother = "ledger-owner-mismatch";

/** Another replica's run counts for so much of an interval: a little less, since runs wait for locks. */
const standbyShare = 0.9;

/** Runs that had nothing to send are forgotten after a week, milliseconds: a run a minute is half a million a year. */
const keepQuietMs = 7 * 86_400_000;

/**
 * One run: waits for the lock, plans, excludes what the policy does not allow, checks safety, applies the rest, and records
 * the run in the ledger's history, also without changes. Never throws.
 */
export async function reconcile(cli: Cli, request: ReconcileRequest): Promise<EndedReconcile> {
  const { config, metrics } = request;
  const startedAt = systemClock.now();
  const since = systemClock.monotonic();
  const tally = new ReconcileTally();
  metrics.begin({ workspace: config.workspace, rate: config.service.rate });
  const ended = ({ exitCode: code, ...rest }: RunEnd): EndedReconcile => {
    const ms = Math.round(systemClock.monotonic() - since);
    const end = { ...rest, workspace: config.workspace, startedAt, ms };
    metrics.end(end);
    return { end, exitCode: code };
  };
  const lock = { command, waitMs: request.lockTimeout ?? config.reconcile.lockWaitMs };
  try {
    if (request.failure !== undefined) throw request.failure;
    const end = await inWorkspaceOf(cli, config, (workspace) =>
      withLock(workspace, lock, () => reconcileLocked({ workspace, request, tally })),
    );
    return ended(end);
  } catch (error) {
    return { ...ended(endOfError(error, tally)), error };
  }
}

type RunEnd = Omit<ReconcileResult, "workspace" | "startedAt" | "ms"> & { readonly exitCode: ExitCode };

/** A run under the lock. */
interface Run {
  readonly workspace: Workspace;
  readonly request: ReconcileRequest;
  readonly tally: ReconcileTally;
}

async function reconcileLocked(run: Run): Promise<RunEnd> {
  const { workspace, request, tally } = run;
  const { cli, config } = workspace;
  const ledger = await workspace.ledger();
  const standby = await standbyEnd(run);
  if (standby !== undefined) return { ...standby, ...tally.details() };
  const planned = await recordingFailure(ledger, "", () => planLocked(run, request.refresh));
  request.metrics.reportConfidence(ledgerAgeOf(planned));
  const { recorded } = planned;
  const { plan, excluded, waits } = narrow(planned, config);
  tally.plan(plan);
  // A problem that prevents every call, such as a missing key, is reported before the plan.
  await recordingFailure(ledger, plan.plan_id, () => workspace.connect(() => {}));
  showPlan(cli, plan, request);
  const refusals = safetyRefusals(config, { plan, recorded }, {});
  const { news } = request;
  const refusalText = formatDiagnostics(refusals, cli.terminal.paintErr);
  const isNew = news === undefined || news.isNew("refusals", refusalText);
  if (refusals.length > 0) {
    if (isNew) printDiagnostics(cli.terminal, "Refused; nothing was changed.", refusals);
    tally.runId = await note(ledger, plan.plan_id, "refused");
    return { status: "refused", exitCode: exitCode.refused, excluded, ...tally.details() };
  }
  const end = await applyLocked(run, { ...planned, plan }, { excluded, waits });
  await ledger.forgetQuietRuns({ command, before: (await ledger.now()) - keepQuietMs });
  return end;
}

/** Changes that a run leaves out, by what would have to be allowed: an action of the policy, or `removed_drafts`. */
type Exclusions = Readonly<Record<string, number>>;

interface Narrowed {
  readonly plan: Plan;
  readonly excluded: Exclusions;
  /** The status of a run that left out publishes or duplicates until a person has acted; absent when it did not. */
  readonly waits?: "new_ledger" | "refused" | undefined;
}

/** No person is asked here: what needs one is excluded, then what the policy does not allow. */
function narrow({ plan: whole, recorded }: PlannedState, { safety, reconcile, service }: Config): Narrowed {
  const consented = safety.removedDrafts === "delete" ? { plan: whole, excluded: {} } : excludeRemoved(whole);
  const allowed = excludeByPolicy(consented.plan, reconcile.allow);
  const isNew = isNewLedger(recorded, service.origin);
  const known = excludeIrreversible(allowed.plan, recorded, { isNew });
  const isHeld = known.warnings.length + waitingDrafts(known.plan, ["person"]).length > 0;
  const removed = Object.values(consented.excluded).reduce((sum, count) => sum + count, 0);
  return {
    plan: known.plan,
    excluded: {
      ...allowed.excluded,
      ...known.excluded,
      ...(removed > 0 ? { removed_drafts: removed } : {}),
    },
    waits: isHeld ? (isNew && known.warnings.length > 0 ? "new_ledger" : "refused") : undefined,
  };
}

/**
 * How a run ends that has nothing to do: another replica has reconciled the workspace within the interval, and by its ledger and
 * these manifests nothing is left but what needs a person. Then the service is not read again. `undefined` otherwise. The lock is
 * held, so no other run is under way.
 */
async function standbyEnd({
  workspace,
  request,
  tally,
}: Run): Promise<Pick<RunEnd, "status" | "exitCode" | "excluded"> | undefined> {
  const { replicas, config } = request;
  if (replicas === undefined) return undefined;
  const ledger = await workspace.ledger();
  const [now, shareMs] = [await ledger.now(), standbyShare * replicas.intervalMs];
  const recent = await ledger.runs({ command, since: now - shareMs });
  // Where a clock is wrong, runs of the future are recorded.
  const others = recent.filter(({ id, startedAt }) => startedAt < now + shareMs && !replicas.ownRuns.has(id));
  if (!others.some(({ status }) => status === "done")) return undefined;
  const trial = { workspace, request, tally: new ReconcileTally() };
  const { plan, excluded, waits } = narrow(await planLocked(trial, undefined), config);
  if (plan.changes.length > 0) return undefined;
  tally.plan(plan);
  if (waits !== undefined) return { status: waits, exitCode: exitCode.refused, excluded };
  const status = statusOf(exitCode.done, excluded);
  return { status: status === "ok" ? "standby" : status, exitCode: exitCode.done, excluded };
}

/** Checks the service within its budget, and plans; confirmations are in the ledger then. */
async function planLocked(run: Run, refresh: RefreshMode | undefined): Promise<PlannedState> {
  const { workspace, request } = run;
  const reporter = await openReporter(workspace, { json: request.json });
  return makePlan(workspace, {
    targets: [],
    refresh,
    underLock: true,
    limits: limitsOf(request.limits),
    emit: counting(run, reporter.emit),
  }).finally(reporter.stop);
}

function counting({ tally, request: { metrics } }: Run, emit: EventSink): EventSink {
  return (event) => {
    tally.event(event);
    metrics.count(event);
    emit(event);
  };
}

async function applyLocked(
  run: Run,
  { plan, desired }: PlannedState,
  { excluded, waits }: Pick<Narrowed, "excluded" | "waits">,
): Promise<RunEnd> {
  const { workspace, request, tally } = run;
  const { cli } = workspace;
  const { json, news } = request;
  const locationOf = makeLocationFinder(desired);
  const isNews = (failures: string) => news?.isNew("failures", failures) !== false;
  const reporter = await openReporter(workspace, { json, plan, locationOf, isNews });
  // The line of a service's run says the same, and of nothing there is nothing to say.
  const isSilent = !json && (news !== undefined || plan.changes.every(isBlocked));
  const emit = counting(run, (event) => {
    if (!isSilent || event.type !== "run_finished") reporter.emit(event);
  });
  try {
    const ledger = await workspace.ledger();
    const service = await recordingFailure(ledger, plan.plan_id, () => workspace.connect(emit));
    const limits = limitsOfRun(request.limits, plan, service.callCount());
    const result = await runPlan(workspace, { plan, limits, service, emit, command });
    reportTooFewCalls(cli, result, request.limits);
    const { totals, stopped } = result;
    if (totals.failed + totals.in_doubt === 0) isNews("");
    const ownCode = exitCodeOfRun(result, plan);
    const isBlind = ownCode === exitCode.done && readTooLittle(plan, totals);
    if (isBlind) printDiagnostics(cli.terminal, undefined, [tooLittleRead]);
    const isLeft = stopped !== undefined || waitingDrafts(plan, ["change", "check"]).length > 0;
    const isHeld = ownCode === exitCode.done || (ownCode === exitCode.deferred && !isLeft);
    const held = isHeld && !isBlind ? waits : undefined;
    const code = isBlind ? exitCode.error : held === undefined ? ownCode : exitCode.refused;
    const ends = held ?? statusOf(code, excluded);
    const isStalled = isTooFewCalls(result) || (ends === "deferred" && !tally.progressed);
    return {
      status: isStalled ? "stalled" : ends,
      exitCode: code,
      totals,
      excluded,
      ...tally.details(),
      ...(isBlind ? { code: tooLittleRead.code } : {}),
      ...(typeof stopped === "object" ? { code: stopped.code } : {}),
    };
  } finally {
    reporter.stop();
  }
}

function statusOf(code: ExitCode, excluded: Exclusions): ReconcileStatus {
  switch (code) {
    case exitCode.done:
      return Object.keys(excluded).length > 0 ? "excluded" : "ok";
    case exitCode.deferred:
      return "deferred";
    case exitCode.refused:
      return "refused";
    case exitCode.inDoubt:
      return "in_doubt";
    case exitCode.interrupted:
      return "interrupted";
    default:
      return "failing";
  }
}

/** Of a run that an error ended. */
function endOfError(error: unknown, tally: ReconcileTally): RunEnd {
  const code = error instanceof DraftsyncError ? error.code : "defect";
  const ends = exitCodeOf(error);
  // What was done before is recorded, so it is not that nothing was changed.
  const exit = tally.anyDone && ends === exitCode.error ? exitCode.failed : ends;
  const status = code === "lock-held" ? "locked" : statusOf(exit, {});
  return { status, exitCode: exit, code, ...tally.run() };
}

function showPlan(cli: Cli, plan: Plan, { json, news }: ReconcileRequest): void {
  if (json) {
    announce(cli, plan);
    return;
  }
  if (news !== undefined && !news.isNew("plan", substanceOf(plan))) return;
  cli.terminal.show(formatPlanText(viewPlan(plan, systemClock.now()), cli.terminal.paintOut));
}

/** What makes a plan worth showing again: all but times. Empty when there is nothing to show. */
function substanceOf({ changes, diagnostics, drift = [] }: Plan): string {
  if (changes.length + diagnostics.length + drift.length === 0) return "";
  const what = [
    ...drift.map(({ address, type, after }) => ({ address, type, after })),
    ...changes.map(({ confirmed: _, ...change }) => change),
    ...diagnostics,
  ];
  return JSON.stringify(what);
}

/** Work before the run begins: that it failed is recorded, too. */
async function recordingFailure<T>(ledger: StateStore, planId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // A failing ledger cannot record it either, and that of a different workspace must not.
    const code = error instanceof DraftsyncError ? error.code : undefined;
    if (code !== ofAnother) await note(ledger, planId, "error").catch(() => {});
    throw error;
  }
}

/** Records a reconcile that ended before it ran a plan; the id of its record. */
async function note(ledger: StateStore, planId: string, status: string): Promise<string> {
  const id = newRunId();
  await ledger.startRun({ id, command, planId, startedAt: await ledger.now() });
  await ledger.finishRun(id, { totals: {}, status });
  return id;
}
