import type { Diagnostic } from "../../model/diagnostic.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import type { Cli } from "../cli.ts";
import { printDiagnostics } from "../terminal/report-error.ts";
import { type ExitCode, exitCode } from "./exit-code.ts";
import type { Workspace } from "./workspace.ts";

/** What of a plan is applied, and whether a person confirms the ledger with it. */
export interface PublishConsent {
  readonly plan: Plan;
  /** What is left out, and how to include it; absent when nothing is. */
  readonly warning?: Diagnostic;
  /** To be recorded when the plan is applied. */
  readonly confirms: boolean;
}

interface ConsentFlags {
  readonly newLedger?: boolean;
  readonly autoApprove?: boolean;
}

/**
 * Leaves publishes and duplicates out of a plan while the ledger is new, unless a person confirms it: by a flag, or by the
 * answer to a question on the terminal.
 */
export async function consentToPublish(
  cli: Cli,
  { plan, recorded }: { readonly plan: Plan; readonly recorded: Recorded },
  { newLedger = false, autoApprove = false }: ConsentFlags,
): Promise<PublishConsent> {
  const { excludeIrreversible, isNewLedger } = await import("../../plan/new-ledger.ts");
  if (!isNewLedger(recorded, plan.service_origin)) return { plan, confirms: false };
  if (newLedger) return { plan, confirms: true };
  const { plan: narrowed, excluded } = excludeIrreversible(plan);
  if (Object.keys(excluded).length === 0) return { plan, confirms: false };
  const answer =
    cli.terminal.interactive && !autoApprove ? await cli.terminal.ask(question, cli.signal) : undefined;
  if (answer?.trim() === "yes") return { plan, confirms: true };
  const warning = narrowed.diagnostics.find(({ code }) => code === "new-ledger");
  return {
    // It is a part of the plan that was shown or reviewed.
    plan: { ...narrowed, plan_id: plan.plan_id },
    confirms: false,
    ...(warning === undefined ? {} : { warning }),
  };
}

const question =
  "\nThis ledger is new: it does not know of products published or duplicated before it.\n" +
  'If there are none, type "yes" to publish; anything else leaves publishes and duplicates out: ';

/** Records the confirmation, once and for all. */
export async function confirmLedger({ ledger }: Workspace): Promise<void> {
  await (await ledger()).confirm(systemClock.now());
}

/** Reports what was left out, and ends a command with 5 that would have ended well otherwise. */
export function endWithConsent(cli: Cli, { warning }: PublishConsent, code: ExitCode): void {
  if (warning !== undefined) printDiagnostics(cli.terminal, "", [warning]);
  cli.end(warning !== undefined && code === exitCode.done ? exitCode.refused : code);
}
