import { Option } from "commander";
import { z } from "zod";
import { msUntil, type RunLimits } from "../../apply/run-budget.ts";
import type { Desired } from "../../model/desired.ts";
import { type Diagnostic, hasErrors } from "../../model/diagnostic.ts";
import type { EventSink } from "../../model/event.ts";
import { holderMayWrite } from "../../model/lock.ts";
import type { Observed, RefreshMode } from "../../model/observed.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import type { RateBound } from "../../model/rate.ts";
import type { Recorded } from "../../model/recorded.ts";
import { longestTimerMs } from "../../model/wait.ts";
import { buildPlan } from "../../plan/build-plan.ts";
import { assertOwner } from "../../plan/ownership.ts";
import { makeFileIdFinder } from "../../plan/recorded-index.ts";
import { resolveTargets } from "../../plan/target-names.ts";
import type { RefreshPolicy } from "../../refresh/select-targets.ts";
import { describeHolder } from "../../report/lock-text.ts";
import type { Config } from "../config.ts";
import { CliError, DiagnosticsError, interruptedWhile } from "./cli-error.ts";
import { loadDesired } from "./manifests.ts";
import { refuseWhileRecoveryPending } from "./recovery.ts";
import { pathInWorkspace, type Workspace } from "./workspace.ts";

/** The flag for how much of the service is checked. */
export interface RefreshFlags {
  readonly refresh?: "none" | RefreshMode;
}

/** `--refresh`; without a default, the config decides. */
export function refreshOption(byDefault?: RefreshMode): Option {
  const modes = "check the service first: none, budget (up to refresh.max_calls), full";
  const text = byDefault === undefined ? `${modes} (default: budget if the config has \`refresh\`)` : modes;
  return new Option("--refresh <mode>", text).choices(["none", "budget", "full"]).default(byDefault);
}

/** How much of the service is checked; `undefined`: nothing. */
export function refreshModeOf({ refresh }: RefreshFlags, config: Config): RefreshMode | undefined {
  if (refresh === undefined) return config.refresh.byDefault ? "budget" : undefined;
  return refresh === "none" ? undefined : refresh;
}

/** A plan and what it was made from. */
export interface PlannedState {
  readonly plan: Plan;
  readonly recorded: Recorded;
  readonly desired: Desired;
}

/** How a plan is made. */
export interface PlanRequest {
  /** Input of `resolveTargets`; empty: everything. */
  readonly targets: readonly string[];
  /** How much of the service is checked first; absent: nothing. */
  readonly refresh?: RefreshMode | undefined;
  /** Whether attachments are checked; absent: as the config says. */
  readonly attachments?: "none" | "probe" | undefined;
  /** Those of the command: a refresh takes at most half of the calls and of the time that are left. */
  readonly limits?: RunLimits | undefined;
  /** The lock is held: confirmations of the refresh are recorded. */
  readonly underLock?: boolean;
  readonly emit: EventSink;
}

/**
 * Manifests -> desired, ledger -> recorded, service -> observed, all three -> plan. Throws {@link DiagnosticsError},
 * {@link CliError} `recovery-pending` while the recovery log has outcomes, or an error of the service that a refresh needs.
 */
export async function makePlan(workspace: Workspace, request: PlanRequest): Promise<PlannedState> {
  const { cli, config, owner } = workspace;
  refuseWhileRecoveryPending(config);
  // Of a large workspace each takes a while, and most of it on other threads.
  const [read, loaded] = await Promise.allSettled([
    loadDesired(cli, config, "hash"),
    workspace.reader().then((ledger) => ledger.load()),
  ]);
  const { desired, diagnostics } = settledValue(read);
  let recorded = settledValue(loaded);
  const folder = pathInWorkspace(cli, config, ".");
  const targets = resolveTargets(request.targets, desired, { titles: recorded.titles, folder });
  assertOwner(recorded, owner);
  let observed: Observed | undefined;
  const { refresh: mode } = request;
  if (mode === "full" || (mode !== undefined && !(await givesWay(workspace, request.limits)))) {
    observed = await refresh(workspace, { ...request, mode, targets, desired, recorded });
    if (request.underLock && observed.confirmations.length > 0)
      recorded = await recordConfirmations(workspace, observed);
  }
  const plan = buildPlan({
    workspace: config.workspace,
    serviceOrigin: config.service.origin,
    desired,
    recorded,
    ...(observed === undefined ? {} : { observed }),
    rate: config.service.rate,
    profile: config.service.profile,
    diagnostics: [
      ...diagnostics,
      ...nothingDeclared(desired),
      ...(request.underLock ? [] : await runUnderWay(workspace, recorded)),
    ],
    targets,
  });
  if (hasErrors(plan.diagnostics)) throw new DiagnosticsError(plan.diagnostics);
  return { plan, recorded, desired };
}

function settledValue<T>(result: PromiseSettledResult<T>): T {
  if (result.status === "fulfilled") return result.value;
  throw result.reason;
}

async function recordConfirmations(workspace: Workspace, { confirmations }: Observed): Promise<Recorded> {
  const ledger = await workspace.ledger();
  // A target that was only tried is not an accepted response.
  if (confirmations.some(({ type }) => type !== "refreshed")) await ledger.bind(workspace.owner);
  await ledger.record(confirmations);
  return ledger.load();
}

/** Warns of drafts that ask for nothing yet, as in the manifest that `init` writes. */
function nothingDeclared({ drafts, duplicates }: Desired): readonly Diagnostic[] {
  const isBlank = drafts.every(({ managed, publish }) => managed.length === 0 && publish === undefined);
  const [first] = drafts;
  if (first === undefined || !isBlank || duplicates.length > 0) return [];
  const message = "The manifests declare no files, publish or duplicate";
  const hint = `Add product_files, promotional_files or publish to a draft, such as the one in ${first.file}.`;
  return [{ severity: "warning", code: "nothing-declared", message, hint }];
}

/** Warns when a different process may be changing what the plan is made from. Its calls in flight look like those of a crash. */
async function runUnderWay(workspace: Workspace, { inDoubt }: Recorded): Promise<readonly Diagnostic[]> {
  const lock = await (await workspace.reader()).heldLock();
  if (lock === undefined || !holderMayWrite(lock)) return [];
  const isSending = inDoubt.some(({ finishedAt }) => finishedAt === undefined);
  const what = isSending ? "calls that it has sent are shown as in doubt" : "its changes may be missing here";
  const message = `${describeHolder(lock)} is running: ${what}`;
  const hint = `Plan again when it has ended${isSending ? ", and resolve nothing before" : ""}.`;
  return [{ severity: "warning", code: "run-under-way", message, hint }];
}

interface RefreshRequest extends PlanRequest {
  readonly mode: RefreshMode;
  readonly desired: Desired;
  readonly recorded: Recorded;
}

/**
 * Reads the service. Writes nothing to it or to the ledger. Throws {@link CliError} with the failure's code when the
 * service is unusable as a whole, and `aborted` after an interrupt.
 */
async function refresh({ cli, config, connect }: Workspace, request: RefreshRequest): Promise<Observed> {
  const { mode, targets, desired, recorded, emit, limits = {} } = request;
  const { observe } = await import("../../refresh/observe.ts");
  const attachments = request.attachments ?? config.refresh.attachments;
  const halfUsed = new AbortController();
  const watched = watchQuota(emit, config.service.profile.max_wait, halfUsed);
  const { observed, stopped } = await observe({
    desired,
    recorded,
    policy: limitPolicy({ ...config.refresh, attachments, mode, targets }, limits, config.service.rate),
    reader: await connect(watched),
    fileIdOf: makeFileIdFinder(recorded),
    settleDelayMs: config.service.profile.settle_delay,
    concurrency: config.service.concurrency,
    clock: systemClock,
    emit,
    signal: AbortSignal.any([cli.signal, halfUsed.signal, ...timeUp(limits)]),
  });
  if (cli.signal.aborted) throw interruptedWhile("checking the service");
  if (stopped === undefined) return observed;
  const { code, message, hint = "" } = stopped;
  throw new CliError(`the service could not be checked: ${message}`, {
    code,
    hint: `${hint} To plan from the ledger alone: --refresh none`.trim(),
  });
}

const dayMs = 24 * 60 * 60 * 1000;

/** After a run that ended at its limit without a call: the refreshes before it may have used all that the rate allows. */
async function givesWay({ reader }: Workspace, { maxCalls, until }: RunLimits = {}): Promise<boolean> {
  if (maxCalls === undefined && until === undefined) return false;
  const last = (await (await reader()).runs({ since: systemClock.now() - dayMs })).at(-1);
  const { calls } = z.object({ calls: z.number() }).safeParse(last?.totals).data ?? {};
  return last?.status === "deferred" && calls === 0;
}

/**
 * Half of the calls that the limits, and the rate until their end, allow. The other half is for the changes: a refresh of a
 * large workspace would use up the calls of every run. A full refresh has no other bound, and goes on to the half of the time.
 */
function limitPolicy(policy: RefreshPolicy, { maxCalls, until }: RunLimits, rate: RateBound): RefreshPolicy {
  const isFull = policy.mode === "full";
  const hasEnd = until !== undefined && !isFull;
  const inTime = hasEnd ? rate.limit * Math.ceil(msUntil(until, systemClock) / rate.windowMs) : Infinity;
  const half = Math.floor(Math.min(maxCalls ?? Infinity, inTime) / 2);
  return { ...policy, maxCalls: Math.max(0, isFull ? half : Math.min(policy.maxCalls, half)) };
}

/** Aborts when half of a quota is used that the service announces, and calls beyond it would not wait. The rest is for the changes. */
function watchQuota(emit: EventSink, maxWaitMs: number, halfUsed: AbortController): EventSink {
  let calls = 0;
  let half = Infinity;
  return (event) => {
    emit(event);
    if (event.type === "call_finished") calls += 1;
    if (event.type === "bound_announced" && event.window_ms > maxWaitMs)
      half = Math.min(half, event.limit / 2);
    if (calls >= half) halfUsed.abort();
  };
}

function timeUp({ until }: RunLimits): readonly AbortSignal[] {
  if (until === undefined) return [];
  const halfMs = Math.max(0, msUntil(until, systemClock) / 2);
  return [AbortSignal.timeout(Math.min(Math.round(halfMs), longestTimerMs))];
}
