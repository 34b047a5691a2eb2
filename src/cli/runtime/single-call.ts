import { bindOnce, newRunId } from "../../apply/context.ts";
import type { OperationRequest } from "../../apply/operation.ts";
import { runOperation } from "../../apply/operation.ts";
import type { CallResult, Outcome } from "../../model/outcome.ts";
import { systemClock } from "../../model/ports.ts";
import type { Service } from "../../service/open-service.ts";
import type { Cli, WorkspaceFlags, WriterFlags } from "../cli.ts";
import { openReporter } from "../terminal/reporter.ts";
import { CliError } from "./cli-error.ts";
import { exitCode } from "./exit-code.ts";
import { openTracker, warnWhileRecoveryPending } from "./recovery.ts";
import { withLock } from "./with-lock.ts";
import type { Workspace } from "./workspace.ts";
import { inWorkspace } from "./workspace.ts";

/** The workspace that the flags name, and its service. */
export interface SingleCall {
  readonly workspace: Workspace;
  readonly service: Service;
}

/** {@link SingleCall} for a command that writes. */
export interface SingleWrite extends SingleCall {
  /** Sends a writing call with its intent and outcome in the ledger, as apply does. */
  write<T>(request: OperationRequest<T>): Promise<T>;
}

/** Opens the workspace and the service for a command that reads. Progress goes to standard error. */
export async function singleCall(
  cli: Cli,
  flags: WorkspaceFlags,
  work: (tools: SingleCall) => Promise<void>,
): Promise<void> {
  await inWorkspace(cli, flags, async (workspace) => {
    warnWhileRecoveryPending(cli, workspace.config);
    await work({ workspace, service: await connect(cli, workspace) });
  });
}

/** {@link singleCall} for a command that writes: it holds the lock of the workspace. */
export async function singleWrite(
  cli: Cli,
  { flags, command }: { readonly flags: WriterFlags; readonly command: string },
  work: (tools: SingleWrite) => Promise<void>,
): Promise<void> {
  await inWorkspace(cli, flags, (workspace) =>
    withLock(cli, { workspace, command, waitMs: flags.lockTimeout }, async () => {
      const service = await connect(cli, workspace);
      const tools = { workspace, service, command };
      await work({ workspace, service, write: (request) => write(cli, tools, request) });
    }),
  );
}

async function connect(cli: Cli, workspace: Workspace): Promise<Service> {
  const reporter = await openReporter(cli, { config: workspace.config });
  workspace.keep({ close: async () => reporter.stop() });
  return workspace.connect(reporter.emit);
}

/** What {@link inRun} writes with. */
export interface RunTools {
  readonly workspace: Workspace;
  readonly service: Pick<Service, "callCount">;
  readonly command: string;
}

/** Sends one writing call, with its intent and outcome in the ledger. */
export type Operate = <T>(request: OperationRequest<T>) => Promise<CallResult<T>>;

/** Writing calls as one run of the ledger. The caller holds the lock. A call in doubt decides the exit code. */
export async function inRun<T>(
  cli: Cli,
  { workspace, service, command }: RunTools,
  work: (operate: Operate) => Promise<T>,
): Promise<T> {
  const ledger = await workspace.ledger();
  const tracker = await openTracker(cli, { workspace, command });
  const runId = newRunId();
  const { service: settings, workspace: name } = workspace.config;
  const owner = { origin: settings.origin, workspace: name };
  await ledger.assertOwner(owner);
  const bind = bindOnce(ledger, owner);
  await ledger.startRun({ id: runId, command, planId: "", startedAt: systemClock.now() });
  const outcomes: Outcome[] = [];
  const value = await work(async (request) => {
    const result = await runOperation(
      { ledger, bind, outcomes: tracker, runId, signal: cli.signal },
      request,
    );
    outcomes.push(result.outcome);
    return result;
  });
  const done = outcomes.filter((outcome) => outcome === "done").length;
  const totals = { done, failed: outcomes.length - done, in_doubt: 0, skipped: 0, deferred: 0 };
  const status = outcomes.find((outcome) => outcome !== "done") ?? "done";
  await ledger.finishRun(runId, { totals: { ...totals, calls: service.callCount() }, status });
  if (outcomes.includes("unknown")) cli.end(exitCode.inDoubt);
  return value;
}

async function write<T>(cli: Cli, tools: RunTools, request: OperationRequest<T>): Promise<T> {
  const result = await inRun(cli, tools, (operate) => operate(request));
  if (result.outcome === "done") return result.value;
  const { message, hint } = result.failure;
  const doubt = result.outcome === "unknown" ? "in doubt, it may have taken effect: " : "";
  return expectDone({
    ...result,
    failure: {
      ...result.failure,
      message: `${doubt}${message}`,
      ...(hint === undefined ? {} : { hint: hint.replace("ADDRESS", request.address) }),
    },
  });
}

/** The value of a call that ended well. Throws {@link CliError} with the failure's code otherwise. */
export function expectDone<T>(result: CallResult<T>): T {
  if (result.outcome === "done") return result.value;
  const { code, message, hint, errors } = result.failure;
  const said = errors
    .map(({ title, detail }) => [title, detail].filter(Boolean).join(": "))
    .filter(
      (words) =>
        words !== "" && !errors.some(({ detail }) => detail !== undefined && message.includes(detail)),
    );
  throw new CliError([message, ...said].join("; "), {
    code,
    ...(hint === undefined ? {} : { hint }),
  });
}
