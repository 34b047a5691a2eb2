import { draftOf } from "../../model/change.ts";
import type { Diagnostic } from "../../model/diagnostic.ts";
import type { Event, EventSink } from "../../model/event.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import { excludeIrreversible, isNewLedger, maybePublishedWarnings } from "../../plan/new-ledger.ts";
import type { Cli } from "../cli.ts";
import { printDiagnostics } from "../terminal/report-error.ts";
import { type ExitCode, exitCode } from "./exit-code.ts";
import type { Workspace } from "./workspace.ts";

/** What of a plan is applied, and whether a person confirms the ledger with it. */
export interface PublishConsent {
  readonly plan: Plan;
  /** What is left out, and how to include it. */
  readonly warnings: readonly Diagnostic[];
  /** To be recorded when the plan is applied. */
  readonly confirms: boolean;
}

interface ConsentFlags {
  readonly newLedger?: boolean;
  readonly autoApprove?: boolean;
  readonly json?: boolean;
}

/**
 * Leaves publishes and duplicates out of a plan while the ledger is new, unless a person confirms it: by a flag, or by the
 * answer to a question on the terminal. The publish of a draft that was in use before the ledger is left out in any case.
 */
export async function consentToPublish(
  cli: Cli,
  { plan, recorded }: { readonly plan: Plan; readonly recorded: Recorded },
  flags: ConsentFlags,
): Promise<PublishConsent> {
  const consent = await ask(cli, { plan, recorded }, flags);
  if (flags.json) announceExcluded(cli, plan, consent);
  return consent;
}

async function ask(
  cli: Cli,
  { plan, recorded }: { readonly plan: Plan; readonly recorded: Recorded },
  { newLedger = false, autoApprove = false }: ConsentFlags,
): Promise<PublishConsent> {
  const exclude = (isNew: boolean) => {
    const { plan: narrowed, warnings } = excludeIrreversible(plan, recorded, { isNew });
    // It is a part of the plan that was shown or reviewed.
    return { plan: { ...narrowed, plan_id: plan.plan_id }, warnings };
  };
  if (!isNewLedger(recorded, plan.service_origin)) return { ...exclude(false), confirms: false };
  const left = exclude(true);
  const isAsked = !newLedger && left.warnings.length > 0 && cli.terminal.interactive && !autoApprove;
  const answer = isAsked ? await cli.terminal.ask(question, cli.signal) : undefined;
  if (newLedger || answer?.trim() === "yes") return { ...exclude(false), confirms: true };
  return { ...left, confirms: false };
}

const question =
  "\nThis ledger is new: it does not know of products published or duplicated before it.\n" +
  'If there are none, type "yes" to publish; anything else leaves publishes and duplicates out: ';

/** Writes an event for each change of `plan` that is left out of `applied`. */
function announceExcluded({ terminal }: Cli, plan: Plan, { plan: applied, warnings }: PublishConsent): void {
  const kept = new Set(applied.changes);
  const [warning] = warnings;
  for (const change of plan.changes) {
    if (kept.has(change) || warning === undefined) continue;
    const { address, title, declared_at, action } = change;
    const event: Event = {
      type: "change_excluded",
      at: systemClock.now(),
      address,
      ...(title === undefined ? {} : { title }),
      ...(declared_at === undefined ? {} : { declared_at }),
      action,
      code: warning.code,
    };
    terminal.out(`${sanitizeJson(event)}\n`);
  }
}

/** Records the confirmation, once and for all. */
export async function confirmLedger({ ledger }: Workspace): Promise<void> {
  await (await ledger()).confirm(systemClock.now());
}

/** Reports what was left out, and ends a command with 5 that would have ended well otherwise. */
export function endWithConsent(
  cli: Cli,
  { warnings }: Pick<PublishConsent, "warnings">,
  code: ExitCode,
): void {
  if (warnings.length > 0) printDiagnostics(cli.terminal, "", warnings);
  cli.end(warnings.length > 0 && code === exitCode.done ? exitCode.refused : code);
}

/** What a run finds out about the drafts of a plan. */
export interface EvidenceWatch {
  readonly emit: EventSink;
  /** For each draft that turned out to be in use before the ledger, unless the run reported it with its publish. */
  warnings(): Promise<readonly Diagnostic[]>;
}

/**
 * Follows a run of a plan: a file that was attached before is evidence about the publish of its draft. `warnings` are
 * those that the run ends with in any case.
 */
export function watchEvidence({ changes }: Plan, warnings: readonly Diagnostic[]): EvidenceWatch {
  const found = new Map<number, number>();
  const reported = new Set(warnings.map(({ address }) => address));
  return {
    emit: (event) => {
      if (event.type !== "change_finished") return;
      if (event.was_attached) found.set(draftOf(event), event.at);
      if (event.failure?.code === "maybe-published") reported.add(event.address);
    },
    warnings: async () => {
      const unreported = changes.filter(({ address }) => !reported.has(address));
      return maybePublishedWarnings(unreported, { maybePublished: found });
    },
  };
}
