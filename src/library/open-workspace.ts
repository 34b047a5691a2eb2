import { resolve } from "node:path";
import { z } from "zod";
import type { Cli } from "../cli/cli.ts";
import { loadConfig } from "../cli/config.ts";
import { type ExitCode, exitCode } from "../cli/runtime/exit-code.ts";
import { makePlan, refreshModeOf } from "../cli/runtime/planning.ts";
import { assertCompared, compareWithService } from "../cli/runtime/run-drift.ts";
import { applyConsented, consentToPublish, safetyRefusals } from "../cli/runtime/run-plan.ts";
import { checkSavedPlan } from "../cli/runtime/saved-plan.ts";
import { withLock } from "../cli/runtime/with-lock.ts";
import { inWorkspaceOf, type Workspace as OpenedWorkspace } from "../cli/runtime/workspace.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { EventSink, RunTotals } from "../model/event.ts";
import type { LogEntry } from "../model/log.ts";
import type { Plan } from "../model/plan.ts";
import { onAbort } from "../model/wait.ts";
import { formatPlanFile, parsePlanFile } from "../plan/saved-plan.ts";
import type { DriftReport } from "../report/drift-report.ts";
import { makePalette } from "../report/palette.ts";

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
  checkOptions("openWorkspace", options);
  const { config: file, env = process.env, onNote = () => {} } = options;
  const cwd = resolve(options.cwd ?? ".");
  const config = await loadConfig({ cwd, env, flags: file === undefined ? {} : { config: file } });
  const closing = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const run = async <T>(
    method: "plan" | "apply" | "drift",
    given: WorkOptions,
    work: (workspace: OpenedWorkspace, emit: EventSink) => Promise<T>,
  ): Promise<T> => {
    if (closing.signal.aborted) throw new TypeError("the workspace is closed");
    checkOptions(method, given);
    const handler = guard(given.onEvent);
    const signals = given.signal === undefined ? [closing.signal] : [closing.signal, given.signal];
    const cli = makeQuietCli({ cwd, env, signal: AbortSignal.any(signals), onNote });
    const running = inWorkspaceOf(cli, config, (workspace) => work(workspace, handler.emit));
    underWay.add(running);
    return running.finally(() => {
      underWay.delete(running);
      handler.rethrow();
    });
  };
  return {
    plan: async (given = {}) =>
      run("plan", given, async (workspace, emit) => {
        const { targets = [] } = given;
        const request = { targets, refresh: refreshModeOf(given, config), emit };
        return (await makePlan(workspace, request)).plan;
      }),
    apply: async (plan, given = {}) =>
      run("apply", given, (workspace, emit) =>
        withLock(workspace, { command: "apply", waitMs: given.lockTimeout }, () =>
          apply(workspace, { plan, given, emit }),
        ),
      ),
    drift: async (given = {}) =>
      run("drift", given, async (workspace, emit) => {
        const { targets = [], refresh = "budget", probe } = given;
        const attachments = probe ? "probe" : undefined;
        const compared = await compareWithService(workspace, { targets, refresh, attachments, emit });
        assertCompared(compared);
        return compared.report;
      }),
    close: async () => {
      closing.abort();
      await Promise.allSettled(underWay);
    },
  };
}

const aFunction = z.custom((value) => typeof value === "function", "must be a function").optional();
const workOptions = { signal: z.instanceof(AbortSignal).optional(), onEvent: aFunction };
const targets = z.array(z.string()).min(1, "must name something; leave it out to plan everything").optional();

/** Checks what TypeScript would: with NaN as a limit, or one that is misspelled, the work would have none. */
const optionSchemas = {
  openWorkspace: z.strictObject({
    config: z.string().optional(),
    cwd: z.string().optional(),
    env: z.custom((value) => typeof value === "object", "must be an object").optional(),
    onNote: aFunction,
  }),
  plan: z.strictObject({ ...workOptions, targets, refresh: z.enum(["none", "budget", "full"]).optional() }),
  apply: z.strictObject({
    ...workOptions,
    newLedger: z.boolean().optional(),
    removeDrafts: z.boolean().optional(),
    maxDeletes: z.number().min(0).max(100).optional(),
    maxCalls: z.int().min(1).optional(),
    until: z.number().optional(),
    lockTimeout: z.number().min(0).optional(),
  }),
  drift: z.strictObject({
    ...workOptions,
    targets,
    refresh: z.enum(["budget", "full"]).optional(),
    probe: z.boolean().optional(),
  }),
};

/** Throws a TypeError. */
function checkOptions(method: keyof typeof optionSchemas, options: object): void {
  const [issue] = optionSchemas[method].safeParse(options).error?.issues ?? [];
  if (issue === undefined) return;
  throw new TypeError(
    issue.code === "unrecognized_keys"
      ? `${method} has no option ${issue.keys.join(", ")}`
      : `${method}, option ${issue.path.join(".")}: ${issue.message}`,
  );
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

interface Applying {
  readonly plan: Plan;
  readonly given: ApplyPlanOptions;
  readonly emit: EventSink;
}

async function apply(workspace: OpenedWorkspace, { plan, given, emit }: Applying): Promise<ApplyReport> {
  // A program may have changed the plan; then it is refused.
  const whole = parsePlanFile(formatPlanFile(plan), "the plan");
  const checked = await checkSavedPlan(workspace, whole);
  const refusals = safetyRefusals(workspace.config, checked, given);
  if (refusals.length > 0) return { status: "refused", diagnostics: refusals };
  const consent = await consentToPublish(workspace.cli, checked, { ...given, autoApprove: true });
  const { until: at, ...others } = given;
  const limits = { ...others, ...(at === undefined ? {} : { until: { at, clock: "now" } as const }) };
  const ended = await applyConsented(workspace, { reviewed: checked.plan, consent, limits, emit });
  const { exit, warnings, result } = ended;
  const status = statuses.get(exit) ?? "failed";
  return {
    status: status === "done" && warnings.length > 0 ? "refused" : status,
    diagnostics: warnings,
    ...(result === undefined ? {} : { totals: result.totals }),
  };
}

const statuses: ReadonlyMap<ExitCode, ApplyReport["status"]> = new Map([
  [exitCode.done, "done"],
  [exitCode.inDoubt, "in_doubt"],
  [exitCode.refused, "refused"],
  [exitCode.deferred, "deferred"],
  [exitCode.interrupted, "interrupted"],
]);

interface QuietCliOptions extends Pick<Cli, "cwd" | "env" | "signal"> {
  readonly onNote: (note: LogEntry) => void;
}

/** How long calls in flight may last after an interrupt, milliseconds; as in the command line. */
const drainMs = 5_000;

/** The `Cli` of commands in a program without a terminal: prints nothing and asks nothing. */
function makeQuietCli({ cwd, env, signal, onNote }: QuietCliOptions): Cli {
  const plain = makePalette(false);
  const abortInFlight = new AbortController();
  onAbort(signal, () => void setTimeout(() => abortInFlight.abort(), drainMs).unref());
  const log = (entry: LogEntry) => {
    onNote(entry);
    return true;
  };
  return {
    cwd,
    env,
    signal,
    interrupts: {
      drain: signal,
      abortInFlight: abortInFlight.signal,
      spareHangup: () => {},
      allowMore: () => {},
    },
    end: () => {},
    terminal: {
      out: () => {},
      show: () => {},
      log,
      err: (text) => log({ level: "info", text }),
      isVerbose: false,
      paintOut: plain,
      paintErr: plain,
      interactive: false,
      isAttached: false,
      readAll: async () => "",
      ask: async () => undefined,
      adjust: () => {},
    },
  };
}
