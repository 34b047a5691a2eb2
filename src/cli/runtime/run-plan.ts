import type { ApplyResult } from "../../apply/apply-plan.ts";
import type { RunLimits } from "../../apply/run-budget.ts";
import type { Event, EventSink } from "../../model/event.ts";
import { eventFormatVersion } from "../../model/event.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import { countWaiting } from "../../plan/safety.ts";
import { plural } from "../../report/quantities.ts";
import type { Service } from "../../service/open-service.ts";
import type { Cli } from "../cli.ts";
import { type ExitCode, exitCode } from "./exit-code.ts";
import { isTooFewCalls } from "./run-limits.ts";
import type { Workspace } from "./workspace.ts";

/** Writes the first event of a run, also when there is nothing to do. */
export function announce({ terminal }: Cli, { plan_id, workspace, summary, estimate }: Plan): void {
  const event: Event = {
    type: "planned",
    format_version: eventFormatVersion,
    at: systemClock.now(),
    plan_id,
    workspace,
    summary,
    estimate,
  };
  terminal.out(`${sanitizeJson(event)}\n`);
}

/** What {@link runPlan} needs. The plan must have passed its safety checks. */
export interface RunPlanOptions {
  readonly plan: Plan;
  readonly limits: RunLimits | undefined;
  readonly service: Service;
  readonly emit: EventSink;
  /** As it is typed, for the ledger's history. */
  readonly command: string;
}

/** Carries a plan out in its workspace, until it is through, interrupted, or at its limits. */
export async function runPlan(
  cli: Cli,
  workspace: Workspace,
  { plan, limits, service, emit, command }: RunPlanOptions,
): Promise<ApplyResult> {
  const { applyPlan } = await import("../../apply/apply-plan.ts");
  const { openTracker } = await import("./recovery.ts");
  const { config } = workspace;
  const ledger = await workspace.ledger();
  const outcomes = await openTracker(cli, { workspace, command });
  return applyPlan({
    plan,
    ledger,
    outcomes,
    service,
    storage: service.storage,
    clock: systemClock,
    emit,
    signal: cli.signal,
    settleDelayMs: config.service.profile.settle_delay,
    concurrency: config.service.concurrency,
    command,
    ...(limits === undefined ? {} : { limits }),
  });
}

/** Says that a run left changes to the next one, which its plan could not know of yet. */
export function reportWaiting({ terminal }: Cli, plan: Plan): void {
  const drafts = countWaiting(plan);
  if (drafts === 0) return;
  const text = `note: ${plural(drafts, "draft")} ${drafts === 1 ? "has" : "have"} changes that waited for a doubt; run apply again\n`;
  terminal.log({ level: "info", text, code: "waits-for-doubt" });
}

/** What a command ends with after a run of the plan. */
export function exitCodeOfRun(result: ApplyResult, plan: Plan): ExitCode {
  const { totals, stopped, refused = 0 } = result;
  if (stopped === "interrupted") return exitCode.interrupted;
  if (totals.in_doubt > 0) return exitCode.inDoubt;
  if (totals.done === 0 && typeof stopped === "object") return exitCode.error;
  const isRefused = refused > 0 && totals.failed === refused && stopped === undefined;
  if (totals.failed + totals.skipped > 0) return isRefused ? exitCode.refused : exitCode.failed;
  if (stopped === undefined) return countWaiting(plan) > 0 ? exitCode.deferred : exitCode.done;
  return isTooFewCalls(result) ? exitCode.error : exitCode.deferred;
}
