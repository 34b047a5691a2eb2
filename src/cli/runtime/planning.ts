import { Option } from "commander";
import { z } from "zod";
import { isLimited, msUntil, type RunLimits } from "../../apply/run-budget.ts";
import { isBlocked } from "../../model/change.ts";
import type { Desired } from "../../model/desired.ts";
import { type Diagnostic, hasErrors } from "../../model/diagnostic.ts";
import type { EventSink } from "../../model/event.ts";
import { isKept } from "../../model/lock.ts";
import type { LogEntry } from "../../model/log.ts";
import type { Observed, RefreshMode } from "../../model/observed.ts";
import { causeOf } from "../../model/outcome.ts";
import type { Plan } from "../../model/plan.ts";
import { type LedgerEffect, ledgerClock, systemClock } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import { abortAfter } from "../../model/wait.ts";
import { buildPlan } from "../../plan/build-plan.ts";
import { excludeIrreversible, isNewLedger } from "../../plan/new-ledger.ts";
import { assertOwner } from "../../plan/ownership.ts";
import { makeFileIdFinder } from "../../plan/recorded-index.ts";
import { resolveTargets } from "../../plan/target-names.ts";
import { isQuotaUsedUp, quotaCodes } from "../../refresh/fetch-targets.ts";
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
  const { refresh: mode, underLock = false } = request;
  const warnings = underLock ? [] : await runUnderWay(workspace, recorded);
  const planFrom = (observed?: Observed) =>
    buildPlan({
      workspace: config.workspace,
      serviceOrigin: config.service.origin,
      desired,
      recorded,
      ...(observed === undefined ? {} : { observed }),
      rate: config.service.rate,
      profile: config.service.profile,
      diagnostics: [...diagnostics, ...nothingDeclared(desired), ...warnings],
      targets,
    });
  const check = async (how: RefreshMode) => {
    const part = { targets, desired, recorded };
    const { observed, failure } = await refresh(workspace, { ...request, ...part, mode: how });
    // Recorded also when the refresh was cut, so that the next one goes on from there. What could not be read is read again then.
    const isNews = ({ type }: LedgerEffect) => failure === undefined || type !== "refreshed";
    const confirmations = observed.confirmations.filter(isNews);
    if (underLock && confirmations.length > 0) recorded = await recordConfirmations(workspace, confirmations);
    if (failure !== undefined) throw failure;
    return planFrom(underLock ? { ...observed, confirmations: [] } : observed);
  };
  const skipRefresh = async (how: RefreshMode): Promise<Plan | undefined> => {
    if (how !== "budget" || !underLock || !(await wasCut(workspace, request.limits))) return undefined;
    const unchecked = planFrom();
    const isNew = isNewLedger(recorded, unchecked.service_origin);
    // What waits for a person is no change of this run.
    if (excludeIrreversible(unchecked, recorded, { isNew }).plan.changes.every(isBlocked)) return undefined;
    cli.terminal.log(refreshSkipped);
    return unchecked;
  };
  const plan = mode === undefined ? planFrom() : ((await skipRefresh(mode)) ?? (await check(mode)));
  if (hasErrors(plan.diagnostics)) throw new DiagnosticsError(plan.diagnostics);
  return { plan, recorded, desired };
}

const refreshSkipped: LogEntry = {
  level: "info",
  text: "note: this run makes its changes without a check of the service: the last one ended at a limit\n",
  code: "refresh-skipped",
};

function settledValue<T>(result: PromiseSettledResult<T>): T {
  if (result.status === "fulfilled") return result.value;
  throw result.reason;
}

async function recordConfirmations(
  workspace: Workspace,
  confirmations: readonly LedgerEffect[],
): Promise<Recorded> {
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
  if (lock === undefined || !isKept(lock)) return [];
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

/** What was read of the service, and why the command cannot go on: an interrupt, or a service that is unusable as a whole. */
interface Refreshed {
  readonly observed: Observed;
  readonly failure?: CliError;
}

/** Reads the service. Writes nothing to it or to the ledger. */
async function refresh(
  { cli, config, connect, reader }: Workspace,
  request: RefreshRequest,
): Promise<Refreshed> {
  const { mode, targets, desired, recorded, emit, underLock, limits = {} } = request;
  const { observe } = await import("../../refresh/observe.ts");
  const attachments = request.attachments ?? config.refresh.attachments;
  const halfTime = limits.until && abortAfter(msUntil(limits.until, systemClock) / 2);
  const { observed, stopped } = await observe({
    desired,
    recorded,
    policy: limitPolicy({ ...config.refresh, attachments, mode, targets }, limits),
    reader: await connect(emit),
    fileIdOf: makeFileIdFinder(recorded),
    settleDelayMs: config.service.profile.settle_delay,
    concurrency: config.service.concurrency,
    clock: await ledgerClock(await reader(), systemClock),
    emit,
    signal: halfTime === undefined ? cli.signal : AbortSignal.any([cli.signal, halfTime.signal]),
  }).finally(() => halfTime?.clear());
  if (cli.signal.aborted) return { observed, failure: interruptedWhile("checking the service") };
  if (stopped === undefined) return { observed };
  const { code, hint = "" } = stopped;
  // A quota that is used up leaves what was read, and the next run its changes.
  if (isQuotaUsedUp(stopped) && underLock && mode === "budget" && observed.summary.checked > 0)
    return { observed };
  const failure = new CliError(`the service could not be checked: ${causeOf(stopped)}`, {
    code,
    hint: `${hint} To plan from the ledger alone: --refresh none`.trim(),
  });
  return { observed, failure };
}

/**
 * Whether the last run of a plan ended at a quota of the service, or checked the service and then ended at a limit such as this run
 * has. The next calls are for the changes: otherwise refreshes could use up all that there are.
 */
async function wasCut({ reader }: Workspace, limits: RunLimits | undefined): Promise<boolean> {
  const ledger = await reader();
  const [last] = await ledger.runs({ lastAppliedUntil: await ledger.now() });
  const { drift, deferred = 0, stopped = "" } = endSchema.safeParse(last?.totals).data ?? {};
  // Also when something failed before: what is refused in every run must not leave the other changes out for ever.
  const isAtLimit = deferred > 0 && drift !== undefined && isLimited(limits);
  return quotaCodes.has(stopped) || isAtLimit;
}

/** The totals of a run: its drift, if it checked the service, what its limit left, and the code of what stopped it. */
const endSchema = z.object({
  drift: z.number().optional(),
  deferred: z.number().optional(),
  stopped: z.string().optional(),
});

/**
 * Half of the calls that the command may make. The other half is for the changes: a refresh of a large workspace would use up
 * the calls of every run. A full refresh has no other bound.
 */
function limitPolicy(policy: RefreshPolicy, { maxCalls = Infinity }: RunLimits): RefreshPolicy {
  const half = Math.floor(maxCalls / 2);
  return { ...policy, maxCalls: policy.mode === "full" ? half : Math.min(policy.maxCalls, half) };
}
