import { resolve } from "node:path";
import { z } from "zod";
import type { Cli } from "../cli/cli.ts";
import { type Config, loadConfig } from "../cli/config.ts";
import { type ExitCode, exitCode } from "../cli/runtime/exit-code.ts";
import { assertSourcesUnchanged, checkPlan } from "../cli/runtime/fresh-plan.ts";
import { confirmLedger, consentToPublish, watchEvidence } from "../cli/runtime/new-ledger.ts";
import { makePlan } from "../cli/runtime/planning.ts";
import { refreshModeOf } from "../cli/runtime/refresh.ts";
import { assertCompared, compareWithService } from "../cli/runtime/run-drift.ts";
import { limitsOf } from "../cli/runtime/run-limits.ts";
import { exitCodeOfRun, runPlan } from "../cli/runtime/run-plan.ts";
import { withLock } from "../cli/runtime/with-lock.ts";
import { inWorkspaceOf, type Workspace as OpenedWorkspace } from "../cli/runtime/workspace.ts";
import { isBlocked } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { EventSink, RunTotals } from "../model/event.ts";
import type { LogEntry } from "../model/log.ts";
import type { Plan } from "../model/plan.ts";
import { checkSafety } from "../plan/safety.ts";
import { formatPlanFile, parsePlanFile } from "../plan/saved-plan.ts";
import type { DriftReport } from "../report/drift-report.ts";
import { makeQuietCli } from "./quiet-cli.ts";

/** Arguments of {@link openWorkspace}. */
export interface WorkspaceOptions {
  /** Path of the config; absent: draftsync.yaml in `cwd` or a parent folder. */
  readonly config?: string;
  /** What `config` and targets are relative to; absent: the current folder. */
  readonly cwd?: string;
  /** Has DRAFTSYNC_API_KEY and the like; absent: that of the process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Receives what the command line prints as notes and warnings; absent: nothing is done with them. */
  readonly onNote?: (note: LogEntry) => void;
}

/** Arguments of everything that a workspace does. */
export interface WorkOptions {
  /** Interrupts it, as Ctrl-C does: calls in flight may end for 5 s, and what was sent is recorded. */
  readonly signal?: AbortSignal;
  /**
   * Receives the events of docs/reference/events.md, but for `planned`. What it throws does not disturb the work: the first error
   * is thrown when all of it has ended.
   */
  readonly onEvent?: EventSink;
}

/** Arguments of {@link Workspace.plan}. */
export interface PlanOptions extends WorkOptions {
  /** As `--target`; absent: everything. Not empty. */
  readonly targets?: readonly string[];
  /** How much of the service is checked first; absent: as the config says. */
  readonly refresh?: "none" | "budget" | "full";
}

/** Arguments of {@link Workspace.apply}. */
export interface ApplyPlanOptions extends WorkOptions {
  /** Confirms, once, that nothing was published before this ledger. */
  readonly newLedger?: boolean;
  /** Consents to deleting the files of drafts that are no longer declared; absent: as the config says. */
  readonly removeDrafts?: boolean;
  /** Percentage of the recorded files that may be deleted; absent: as the config says. */
  readonly maxDeletes?: number;
  /** No operation starts beyond this many calls. */
  readonly maxCalls?: number;
  /** No operation starts after this time, epoch milliseconds. */
  readonly until?: number;
  /** How long to wait for another process that holds the lock, milliseconds; absent: not at all. */
  readonly lockTimeout?: number;
}

/** Arguments of {@link Workspace.drift}. */
export interface DriftOptions extends WorkOptions {
  readonly targets?: readonly string[];
  /** Absent: `budget`. */
  readonly refresh?: "budget" | "full";
  /** Whether files are checked, too, with a call each; absent: as the config says. */
  readonly probe?: boolean;
}

/**
 * How an apply ended.
 *
 * | status | meaning | exit code of `draftsync apply` |
 * |---|---|---|
 * | done | everything is as desired | 0 |
 * | failed | some operations failed, or the service cannot be worked with | 3, 1 |
 * | in_doubt | a person has to settle something: `draftsync plan` shows it | 4 |
 * | refused | a safety limit, or a publish that may have happened before this ledger | 5 |
 * | deferred | it stopped at `maxCalls` or `until`; the next apply continues | 7 |
 * | interrupted | by `signal` or `close()` | 130 |
 */
export interface ApplyReport {
  readonly status: "done" | "failed" | "in_doubt" | "refused" | "deferred" | "interrupted";
  /** Absent when there was nothing to do, or all of it was refused. */
  readonly totals?: RunTotals;
  /** Why something was refused or left out. */
  readonly diagnostics: readonly Diagnostic[];
}

/** The workspace of a config: what `draftsync plan`, `apply` and `drift` do, for programs. Nothing is printed or asked. */
export interface Workspace {
  /** Throws `DiagnosticsError` with all that is wrong with the manifests, or another `DraftsyncError`. Changes nothing. */
  plan(options?: PlanOptions): Promise<Plan>;
  /**
   * Applies exactly this plan; a different process may have made it and stored it as JSON. Holds the lock of the workspace meanwhile.
   * Throws a `DraftsyncError` if nothing was changed: `plan-stale`, `plan-altered`, `lock-held`; or `outcome-not-recorded`.
   */
  apply(plan: Plan, options?: ApplyPlanOptions): Promise<ApplyReport>;
  /** Compares the service with the ledger. Throws `nothing-checked` when there was nothing to compare. Changes nothing. */
  drift(options?: DriftOptions): Promise<DriftReport>;
  /** Interrupts what is under way, and waits for its end. */
  close(): Promise<void>;
}

/** Opens the workspace of a config. Throws a `DraftsyncError` when the config is missing or invalid. */
export async function openWorkspace(options: WorkspaceOptions = {}): Promise<Workspace> {
  const { config: file, env = process.env, onNote = () => {} } = options;
  const cwd = resolve(options.cwd ?? ".");
  const config = await loadConfig({ cwd, env, flags: file === undefined ? {} : { config: file } });
  const closing = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const run = <T>(
    given: WorkOptions,
    work: (cli: Cli, workspace: OpenedWorkspace, emit: EventSink) => Promise<T>,
    use?: { readonly onlyReads: boolean },
  ): Promise<T> => {
    if (closing.signal.aborted) throw new TypeError("the workspace is closed");
    checkOptions(given);
    const { signal } = given;
    const handler = guard(given.onEvent);
    const signals = signal === undefined ? [closing.signal] : [closing.signal, signal];
    const cli = makeQuietCli({ cwd, env, signal: AbortSignal.any(signals), onNote });
    const running = inWorkspaceOf(cli, config, (workspace) => work(cli, workspace, handler.emit), use);
    underWay.add(running);
    return running.finally(() => {
      underWay.delete(running);
      handler.rethrow();
    });
  };
  return {
    plan: async (given = {}) =>
      run(given, (cli, workspace, emit) => plan(cli, workspace, { ...given, emit }), { onlyReads: true }),
    apply: async (chosen, given = {}) =>
      run(given, (cli, workspace, emit) =>
        withLock(cli, { workspace, command: "apply", waitMs: given.lockTimeout }, () =>
          apply(cli, workspace, { chosen, given: { ...given, emit } }),
        ),
      ),
    drift: async (given = {}) =>
      run(given, (cli, workspace, emit) => drift(cli, workspace, { ...given, emit }), { onlyReads: true }),
    close: async () => {
      closing.abort();
      await Promise.allSettled(underWay);
    },
  };
}

/** Checks what TypeScript would: with NaN as a limit, the work would have none. */
const optionsSchema = z.looseObject({
  targets: z.array(z.string()).min(1, "must name something; leave it out to plan everything").optional(),
  refresh: z.enum(["none", "budget", "full"]).optional(),
  probe: z.boolean().optional(),
  newLedger: z.boolean().optional(),
  removeDrafts: z.boolean().optional(),
  maxDeletes: z.number().min(0).max(100).optional(),
  maxCalls: z.int().min(1).optional(),
  until: z.number().optional(),
  lockTimeout: z.number().min(0).optional(),
});

/** Throws a TypeError. */
function checkOptions(options: object): void {
  const [issue] = optionsSchema.safeParse(options).error?.issues ?? [];
  if (issue !== undefined) throw new TypeError(`option ${issue.path.join(".")}: ${issue.message}`);
}

/** A handler whose errors are kept for the end: an exception between a call and its record would put the call in doubt. */
function guard(onEvent: EventSink = () => {}): { readonly emit: EventSink; readonly rethrow: () => void } {
  const errors: unknown[] = [];
  return {
    emit: (event) => {
      try {
        onEvent(event);
      } catch (error) {
        errors.push(error);
      }
    },
    rethrow: () => {
      if (errors.length > 0) throw errors[0];
    },
  };
}

interface Emitting {
  readonly emit: EventSink;
}

async function plan(cli: Cli, workspace: OpenedWorkspace, options: PlanOptions & Emitting): Promise<Plan> {
  const { targets = [], emit } = options;
  const mode = refreshModeOf(options, workspace.config);
  const request = { targets, emit, ...(mode === undefined ? {} : { refresh: mode }) };
  return (await makePlan(cli, workspace, request)).plan;
}

async function drift(
  cli: Cli,
  workspace: OpenedWorkspace,
  { targets = [], refresh = "budget", probe, emit }: DriftOptions & Emitting,
): Promise<DriftReport> {
  const request = { targets, refresh, emit, ...(probe ? { attachments: "probe" as const } : {}) };
  const compared = await compareWithService(cli, workspace, request);
  assertCompared(compared);
  return compared.report;
}

async function apply(
  cli: Cli,
  workspace: OpenedWorkspace,
  { chosen, given }: { readonly chosen: Plan; readonly given: ApplyPlanOptions & Emitting },
): Promise<ApplyReport> {
  // A program may have changed it; then it is refused.
  const whole = parsePlanFile(formatPlanFile(chosen), "the plan");
  const { plan: left, recorded } = await checkPlan(workspace, whole);
  await assertSourcesUnchanged(whole, workspace.config.root);
  const refusals = checkSafety(left, recorded, limitsOfSafety(workspace.config, given));
  if (refusals.length > 0) return { status: "refused", diagnostics: refusals };
  const consent = await consentToPublish(cli, { plan: left, recorded }, { ...given, autoApprove: true });
  const evidence = watchEvidence(left, consent.warnings);
  if (consent.plan.changes.every(isBlocked) && (consent.plan.drift ?? []).length === 0) {
    if (consent.confirms) await confirmLedger(workspace);
    const code = consent.plan.changes.length > 0 ? exitCode.inDoubt : exitCode.done;
    return reportOf(code, consent.warnings);
  }
  const emit: EventSink = (event) => {
    evidence.emit(event);
    given.emit(event);
  };
  const service = await workspace.connect(emit);
  if (consent.confirms) await confirmLedger(workspace);
  const options = { plan: consent.plan, limits: limitsOf(given), service, emit, command: "apply" };
  const result = await runPlan(cli, workspace, options);
  const code = exitCodeOfRun(result, consent.plan);
  const report = reportOf(code, [...consent.warnings, ...(await evidence.warnings())]);
  return { ...report, totals: result.totals };
}

function limitsOfSafety({ safety }: Config, { maxDeletes, removeDrafts }: ApplyPlanOptions) {
  return {
    maxDeletes: { ...safety.maxDeletes, percent: maxDeletes ?? safety.maxDeletes.percent },
    removedDrafts: removeDrafts ? ("delete" as const) : safety.removedDrafts,
  };
}

const statuses: ReadonlyMap<ExitCode, ApplyReport["status"]> = new Map([
  [exitCode.done, "done"],
  [exitCode.inDoubt, "in_doubt"],
  [exitCode.refused, "refused"],
  [exitCode.deferred, "deferred"],
  [exitCode.interrupted, "interrupted"],
]);

function reportOf(code: ExitCode, diagnostics: readonly Diagnostic[]): ApplyReport {
  const status = statuses.get(code) ?? "failed";
  return { status: status === "done" && diagnostics.length > 0 ? "refused" : status, diagnostics };
}
