import { bindOnce, newRunId } from "../../apply/context.ts";
import { type OperationRequest, runOperation } from "../../apply/operation.ts";
import { quoteArgument } from "../../model/address.ts";
import type { CallFailure, CallResult, Outcome } from "../../model/outcome.ts";
import type { Service } from "../../service/open-service.ts";
import type { Cli, WorkspaceFlags, WriterFlags } from "../cli.ts";
import { openReporter } from "../terminal/reporter.ts";
import { CliError } from "./cli-error.ts";
import { exitCode } from "./exit-code.ts";
import { openTracker, warnWhileRecoveryPending } from "./recovery.ts";
import { inLockedWorkspace } from "./with-lock.ts";
import { inWorkspace, type Workspace } from "./workspace.ts";

/** The workspace that the flags name, and its service. */
export interface SingleCall {
  readonly workspace: Workspace;
  readonly service: Service;
}

/** {@link SingleCall} for a command that writes. */
export interface SingleWrite extends SingleCall {
  /** Sends a writing call with its intent and outcome in the ledger, as apply does. Throws what {@link expectDone} throws. */
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
    await work({ workspace, service: await connect(workspace) });
  });
}

/** {@link singleCall} for a command that writes: it holds the lock of the workspace. */
export async function singleWrite(
  cli: Cli,
  options: { readonly flags: WriterFlags; readonly command: string },
  work: (tools: SingleWrite) => Promise<void>,
): Promise<void> {
  await inLockedWorkspace(cli, options, async (workspace) => {
    const service = await connect(workspace);
    const run = { service, command: options.command };
    await work({
      workspace,
      service,
      write: async (request) => {
        const result = await inRun(workspace, run, (operate) => operate(request));
        return expectDone(result, (failure) => ({
          message: `${result.outcome === "unknown" ? "in doubt, it may have taken effect: " : ""}${failure.message}`,
          hint: failure.hint?.replace("ADDRESS", quoteArgument(request.address)),
        }));
      },
    });
  });
}

async function connect(workspace: Workspace): Promise<Service> {
  const reporter = await openReporter(workspace);
  workspace.keep({ close: async () => reporter.stop() });
  return workspace.connect(reporter.emit);
}

/** Sends one writing call, with its intent and outcome in the ledger. */
export type Operate = <T>(request: OperationRequest<T>) => Promise<CallResult<T>>;

/** Writing calls as one run of the ledger. The caller holds the lock. A call in doubt decides the exit code. */
export async function inRun<T>(
  workspace: Workspace,
  { service, command }: { readonly service: Pick<Service, "callCount">; readonly command: string },
  work: (operate: Operate) => Promise<T>,
): Promise<T> {
  const { cli, owner } = workspace;
  const ledger = await workspace.ledger();
  const tracker = await openTracker(workspace, command);
  const runId = newRunId();
  await ledger.assertOwner(owner);
  const bind = bindOnce(ledger, owner);
  await ledger.startRun({ id: runId, command, planId: "", startedAt: await ledger.now() });
  const outcomes: Outcome[] = [];
  const journal = { ledger, bind, outcomes: tracker, runId, signal: cli.signal };
  const value = await work(async (request) => {
    const result = await runOperation(journal, request);
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

/** The value of a call that succeeded. Throws {@link CliError} with the failure's code otherwise; `explain` may change its text. */
export function expectDone<T>(
  result: CallResult<T>,
  explain: (failure: CallFailure) => { readonly message: string; readonly hint?: string | undefined } = (
    failure,
  ) => failure,
): T {
  if (result.outcome === "done") return result.value;
  const { code, errors } = result.failure;
  const { message, hint } = explain(result.failure);
  const isIncluded = errors.some(({ detail }) => detail !== undefined && message.includes(detail));
  const details = errors.map(({ title, detail }) => [title, detail].filter(Boolean).join(": "));
  const added = isIncluded ? [] : details.filter((text) => text !== "");
  throw new CliError([message, ...added].join("; "), { code, ...(hint === undefined ? {} : { hint }) });
}
