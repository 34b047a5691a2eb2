import type { Event } from "../../model/event.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import type { ReconcileResult } from "../../model/reconcile-result.ts";
import type { Recorded } from "../../model/recorded.ts";
import type { LedgerAge } from "../../report/metrics.ts";
import { isWriting } from "../../report/run-state.ts";
import type { PlannedState } from "../runtime/planning.ts";

/** Counts events of a run that its result lacks. */
export class ReconcileTally {
  anyDone = false;
  /** Whether a change ended well, or a call of one that has not ended yet. */
  progressed = false;
  runId: string | undefined;
  #inDoubt = 0;
  #drift: number | undefined;
  #refreshCalls: number | undefined;

  plan({ summary }: Plan): void {
    this.#inDoubt = summary.in_doubt ?? 0;
  }

  event(event: Event): void {
    if (event.type === "refresh_finished") {
      this.#drift = event.drift;
      this.#refreshCalls = event.calls;
    }
    if (event.type === "run_started") this.runId = event.run_id;
    // A refresh before the run also sends PATCH: probes.
    if (event.type === "call_finished" && this.runId !== undefined)
      this.progressed ||= event.outcome === "done" && isWriting(event);
    if (event.type !== "change_finished") return;
    const { action, outcome } = event;
    this.anyDone ||= outcome === "done";
    this.progressed ||= outcome === "done";
    if (action === "in_doubt") this.#inDoubt -= outcome === "done" || outcome === "rejected" ? 1 : 0;
    else if (outcome === "unknown") this.#inDoubt += 1;
  }

  run(): Pick<ReconcileResult, "runId"> {
    return this.runId === undefined ? {} : { runId: this.runId };
  }

  details(): Pick<ReconcileResult, "inDoubt" | "drift" | "refreshCalls" | "runId"> {
    return {
      ...this.run(),
      inDoubt: this.#inDoubt,
      ...(this.#drift === undefined ? {} : { drift: this.#drift }),
      ...(this.#refreshCalls === undefined ? {} : { refreshCalls: this.#refreshCalls }),
    };
  }
}

/** How far what is recorded can be trusted: what was confirmed longest ago, and what of that which was checked has drifted. */
export function ledgerAgeOf({ recorded, plan: { refresh, drift } }: PlannedState): LedgerAge {
  const oldest =
    refresh === undefined ? oldestRecord(recorded) : Date.parse(refresh.oldest_unconfirmed ?? "");
  return {
    ...(Number.isFinite(oldest) ? { oldestUnconfirmedMs: Math.max(0, systemClock.now() - oldest) } : {}),
    ...(drift === undefined || refresh?.checked === 0 ? {} : { drift: drift.length }),
  };
}

/** Infinity when nothing is recorded. */
function oldestRecord({ attachments }: Recorded): number {
  return attachments.reduce(
    (least, { provenance }) => Math.min(least, provenance.at),
    Number.POSITIVE_INFINITY,
  );
}
