import { newRunId } from "../../apply/context.ts";
import { isBlocked } from "../../model/change.ts";
import { DraftsyncError } from "../../model/errors.ts";
import type { EventSink } from "../../model/event.ts";
import type { RefreshMode } from "../../model/observed.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import type { RoundEnd, RoundStatus } from "../../model/round.ts";
import { excludeIrreversible, isNewLedger } from "../../plan/new-ledger.ts";
import { excludeRemovedDrafts, holdBackByPolicy } from "../../plan/policy.ts";
import { checkSafety } from "../../plan/safety.ts";
import { formatDiagnostics } from "../../report/diagnostic-text.ts";
import type { RoundMetrics } from "../../report/metrics.ts";
import { formatPlanText } from "../../report/plan-text.ts";
import { viewPlan } from "../../report/plan-view.ts";
import type { StateStore } from "../../state/open-ledger.ts";
import { announce, carryOut, exitCodeOfRun } from "../carry-out.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { type ExitCode, exitCode, exitCodeOf } from "../exit-code.ts";
import { makePlaceFinder, makePlan, type PlannedState } from "../planning.ts";
import { tellDiagnostics } from "../report-error.ts";
import { openReporter } from "../reporter.ts";
import { type LimitFlags, limitsOf, warnOfTooFewCalls } from "../run-limits.ts";
import { withLock } from "../with-lock.ts";
import { inWorkspaceOf, type Workspace } from "../workspace.ts";
import type { News } from "./news.ts";
import { confidenceOf, Seen } from "./round-facts.ts";

/** What a round is carried out with. */
export interface RoundRequest {
  readonly config: Config;
  readonly limits: LimitFlags;
  /** How long it waits for the lock, milliseconds; absent: as the config says. */
  readonly lockTimeout: number | undefined;
  /** How much of the service is looked at before; absent: nothing. */
  readonly refresh: RefreshMode | undefined;
  /** Events to standard output, one JSON object a line. */
  readonly json: boolean | undefined;
  readonly metrics: RoundMetrics;
  /** Of a service: what has not changed since its last round is not shown again. */
  readonly news?: News;
  /** Of a service that may be one of several: absent when the round is to run whatever the others did. */
  readonly replicas?: Replicas;
}

/** How a replica knows what the others did. */
export interface Replicas {
  readonly intervalMs: number;
  /** Ids of the runs of this process. */
  readonly ownRuns: ReadonlySet<string>;
}

/** Another replica's round counts for so much of an interval: a little less, since rounds wait for locks. */
const standbyShare = 0.9;

/** A round that has ended, and what a command ends with after it. */
export interface EndedRound {
  readonly end: RoundEnd;
  readonly exitCode: ExitCode;
  /** What ended it; not shown yet. */
  readonly error?: unknown;
}

/** The name of the command in the ledger, in its lock and its history. */
const command = "reconcile";

/** The code of the error that says that the ledger belongs to another workspace, or another service. */
export const ofAnother = "ledger-owner-mismatch";

/** Runs that had nothing to send are forgotten after a week, milliseconds: a run a minute is half a million a year. */
const keepQuietMs = 7 * 86_400_000;

/**
 * One round: waits for the lock, plans, holds back what the policy does not allow, checks safety, carries out what is left,
 * and records that in the ledger's history, also when there was nothing to do. Never throws.
 */
export async function runRound(cli: Cli, request: RoundRequest): Promise<EndedRound> {
  const { config, metrics } = request;
  const startedAt = systemClock.now();
  const since = systemClock.monotonic();
  const seen = new Seen();
  metrics.begin({ workspace: config.workspace, rate: config.service.rate });
  const ended = (round: Round, error?: unknown): EndedRound => {
    const { exitCode: code, ...rest } = round;
    const ms = Math.round(systemClock.monotonic() - since);
    const end = { ...rest, workspace: config.workspace, startedAt, ms };
    metrics.end(end);
    return { end, exitCode: code, ...(error === undefined ? {} : { error }) };
  };
  try {
    return ended(
      await inWorkspaceOf(cli, config, (workspace) =>
        withLock(
          cli,
          { workspace, command, waitMs: request.lockTimeout ?? config.reconcile.lockWaitMs },
          () => roundLocked(cli, workspace, { request, seen }),
        ),
      ),
    );
  } catch (error) {
    return ended(roundOf(error, seen), error);
  }
}

type Round = Omit<RoundEnd, "workspace" | "startedAt" | "ms"> & { readonly exitCode: ExitCode };

interface Tools {
  readonly request: RoundRequest;
  readonly seen: Seen;
}

async function roundLocked(cli: Cli, workspace: Workspace, { request, seen }: Tools): Promise<Round> {
  const { config, metrics } = request;
  const ledger = await workspace.ledger();
  if (await isStandby(cli, workspace, { request, seen }))
    return { status: "standby", exitCode: exitCode.done, ...seen.facts() };
  const planned = await noted(ledger, "", () => planRound(cli, workspace, { request, seen }));
  metrics.tellConfidence(confidenceOf(planned));
  const { plan, heldBack, isNewLedger } = narrow(planned, config);
  seen.plan(plan);
  // What keeps the service from being called, such as a missing key, is reported before a plan that nobody can apply.
  await noted(ledger, plan.plan_id, () => workspace.connect(() => {}));
  showPlan(cli, plan, request);
  const { recorded } = planned;
  if (refuse(cli, { plan, recorded, request })) {
    seen.runId = await note(ledger, { planId: plan.plan_id, status: "refused" });
    return { status: "refused", exitCode: exitCode.refused, heldBack, ...seen.facts() };
  }
  const round = await applyWithin(cli, workspace, { request, seen, planned: { ...planned, plan }, heldBack });
  await ledger.forgetQuietRuns({ command, before: systemClock.now() - keepQuietMs });
  return isNewLedger && round.exitCode === exitCode.done
    ? { ...round, status: "new_ledger", exitCode: exitCode.refused }
    : round;
}

/** Changes that a round leaves out, by what would have to be allowed: an action of the policy, or `removed_drafts`. */
type Exclusions = Readonly<Record<string, number>>;

interface NarrowedRound {
  readonly plan: Plan;
  readonly heldBack: Exclusions;
  /** Publishes or duplicates were left out, because no person confirmed the ledger. */
  readonly isNewLedger: boolean;
}

/** No person is asked here: what needs one is excluded, then what the policy does not allow. */
function narrow(
  { plan: whole, recorded }: PlannedState,
  { safety, reconcile, service }: Config,
): NarrowedRound {
  const consented =
    safety.removedDrafts === "delete" ? { plan: whole, heldBack: {} } : excludeRemovedDrafts(whole);
  const allowed = holdBackByPolicy(consented.plan, reconcile.allow);
  const known = isNewLedger(recorded, service.origin)
    ? excludeIrreversible(allowed.plan)
    : { plan: allowed.plan, heldBack: {} };
  const removed = Object.values(consented.heldBack).reduce((sum, count) => sum + count, 0);
  return {
    plan: known.plan,
    heldBack: {
      ...allowed.heldBack,
      ...known.heldBack,
      ...(removed > 0 ? { removed_drafts: removed } : {}),
    },
    isNewLedger: Object.keys(known.heldBack).length > 0,
  };
}

/**
 * Whether another replica has reconciled the workspace within the interval, and nothing is left to do by its ledger and these
 * manifests: then the service need not be read again. The lock is held, so no other round is under way.
 */
async function isStandby(cli: Cli, workspace: Workspace, { request, seen }: Tools): Promise<boolean> {
  const { replicas, config } = request;
  if (replicas === undefined) return false;
  const since = systemClock.now() - standbyShare * replicas.intervalMs;
  const recent = await (await workspace.ledger()).runs({ command, since });
  const others = recent.filter(({ id, status }) => status === "done" && !replicas.ownRuns.has(id));
  if (others.length === 0) return false;
  const { refresh: _none, ...rest } = request;
  const unrefreshed = { request: { ...rest, refresh: undefined }, seen: new Seen() };
  const { plan } = narrow(await planRound(cli, workspace, unrefreshed), config);
  if (plan.changes.length > 0) return false;
  seen.plan(plan);
  return true;
}

/** Looks at the service, as far as the budget goes, and plans; what was confirmed is in the ledger then. */
async function planRound(
  cli: Cli,
  workspace: Workspace,
  { request: { json, metrics, refresh, limits }, seen }: Tools,
): Promise<PlannedState> {
  const reporter = await openReporter(cli, { config: workspace.config, json });
  const emit: EventSink = (event) => {
    seen.event(event);
    metrics.count(event);
    reporter.emit(event);
  };
  const looking = refresh === undefined ? {} : { refresh, underLock: true };
  return makePlan(cli, workspace, { targets: [], ...looking, limits: limitsOf(limits), emit }).finally(
    reporter.stop,
  );
}

interface Applying extends Tools {
  readonly planned: PlannedState;
  readonly heldBack: Exclusions;
}

async function applyWithin(
  cli: Cli,
  workspace: Workspace,
  { request, seen, planned, heldBack }: Applying,
): Promise<Round> {
  const { plan, desired } = planned;
  const { json, metrics, news } = request;
  const reporter = await openReporter(cli, {
    config: workspace.config,
    json,
    placeOf: makePlaceFinder(desired),
  });
  // The line of a service's round says the same, and of nothing there is nothing to say.
  const isSilent = !json && (news !== undefined || plan.changes.every(isBlocked));
  const emit: EventSink = (event) => {
    seen.event(event);
    metrics.count(event);
    if (!isSilent || event.type !== "run_finished") reporter.emit(event);
  };
  try {
    const ledger = await workspace.ledger();
    const service = await noted(ledger, plan.plan_id, () => workspace.connect(emit));
    const limits = limitsOf(request.limits, service.callCount());
    const result = await carryOut(cli, workspace, { plan, limits, service, emit, command });
    warnOfTooFewCalls(cli, result, request.limits);
    const { totals } = result;
    const code = exitCodeOfRun(result);
    const ends = statusOf(code, heldBack);
    const status = ends === "left" && !seen.progressed ? "stalled" : ends;
    const failed = typeof result.stopped === "object" ? { code: result.stopped.code } : {};
    return { status, exitCode: code, totals, heldBack, ...seen.facts(), ...failed };
  } finally {
    reporter.stop();
  }
}

function statusOf(code: ExitCode, heldBack: Exclusions): RoundStatus {
  switch (code) {
    case exitCode.done:
      return Object.keys(heldBack).length > 0 ? "held_back" : "ok";
    case exitCode.left:
      return "left";
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

/** Of a round that an error ended. */
function roundOf(error: unknown, seen: Seen): Round {
  const code = error instanceof DraftsyncError ? error.code : "defect";
  const ends = exitCodeOf(error);
  // What was done before is recorded, so it is not that nothing was changed.
  const exit = seen.anyDone && ends === exitCode.error ? exitCode.failed : ends;
  const status = code === "lock-held" ? "locked" : statusOf(exit, {});
  return { status, exitCode: exit, code, ...seen.run() };
}

function showPlan(cli: Cli, plan: Plan, { json, news }: RoundRequest): void {
  if (json) {
    announce(cli, plan);
    return;
  }
  if (news !== undefined && !news.isNew("plan", substanceOf(plan))) return;
  cli.terminal.out(formatPlanText(viewPlan(plan, systemClock.now()), cli.terminal.paintOut));
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

function refuse(
  { terminal }: Cli,
  {
    plan,
    recorded,
    request,
  }: { readonly plan: Plan; readonly recorded: Recorded; readonly request: RoundRequest },
): boolean {
  const { config, news } = request;
  const refusals = checkSafety(plan, recorded, config.safety);
  const text = formatDiagnostics(refusals, terminal.paintErr);
  const isNew = news === undefined || news.isNew("refusals", text);
  if (refusals.length > 0 && isNew) tellDiagnostics(terminal, "Refused; nothing was changed.", refusals);
  return refusals.length > 0;
}

/** Work before the run begins: that it failed is recorded, too. */
async function noted<T>(ledger: StateStore, planId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // A ledger that fails cannot note it either, and one of another workspace has no place for it.
    const code = error instanceof DraftsyncError ? error.code : undefined;
    if (code !== ofAnother) await note(ledger, { planId, status: "error" }).catch(() => {});
    throw error;
  }
}

/** Records a round that came to no run; the id of its record. */
async function note(
  ledger: StateStore,
  { planId, status }: { readonly planId: string; readonly status: string },
): Promise<string> {
  const id = newRunId();
  await ledger.startRun({ id, command, planId, startedAt: systemClock.now() });
  await ledger.finishRun(id, { totals: {}, status });
  return id;
}
