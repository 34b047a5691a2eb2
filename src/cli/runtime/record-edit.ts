import { newRunId } from "../../apply/context.ts";
import { type Ledger, type LedgerEffect, systemClock } from "../../model/ports.ts";

/** What a person changes in the ledger: `done` records, and nothing is sent. */
export interface LedgerEdit {
  readonly command: string;
  readonly effects: readonly LedgerEffect[];
  readonly done: number;
}

/** Changes the ledger in a run of its own: the history shows who did it, and when. */
export async function recordEdit(ledger: Ledger, { command, effects, done }: LedgerEdit): Promise<void> {
  const id = newRunId();
  const startedAt = systemClock.now();
  // First: an edit that the ledger refuses is no run.
  if (effects.length > 0) await ledger.record(effects);
  await ledger.startRun({ id, command, planId: "", startedAt });
  await ledger.finishRun(id, { totals: { done, calls: 0 }, status: "done" });
}
