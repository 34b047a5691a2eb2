import type { LedgerEffect, LedgerOwner, NewOperation, OperationResult } from "./ports.ts";

/** A call that was sent and has ended, with everything that the ledger has to record of it. */
export interface UnrecordedOutcome {
  readonly operation: NewOperation;
  readonly result: OperationResult;
  readonly effects: readonly LedgerEffect[];
  /** The product that the call created, if it did: it is recorded nowhere else. */
  readonly productId?: number;
}

/** An {@link UnrecordedOutcome} in the recovery log, until it is replayed into the ledger. */
export interface RecoveryRecord extends UnrecordedOutcome {
  /** Of the ledger that holds the intent. */
  readonly lineage: string;
  readonly owner: LedgerOwner;
  /** The command that sent the call. */
  readonly command: string;
  /** The lock that it held. Its run has failed, so `state recover` need not wait for the end of the lease. */
  readonly lockId?: string;
  /** Epoch milliseconds. */
  readonly savedAt: number;
}

/** Tracks outcomes while the ledger records them, and saves those that it fails to record. */
export interface OutcomeTracker {
  /** An outcome that is still tracked when the process ends is saved, too. */
  track(outcome: UnrecordedOutcome): TrackedOutcome;
}

/** An outcome that the ledger is recording. Call exactly one of the two, once, when the ledger is done. */
export interface TrackedOutcome {
  /** The ledger recorded it. */
  release(): void;
  /**
   * The ledger failed. Returns the path of the recovery log once the outcome is durable there; `undefined` when the log
   * could not be written and the outcome was printed instead. Synchronous; never throws.
   */
  save(): string | undefined;
}

/** Which one to keep when a recovery record contradicts the ledger. */
export const conflictChoices = ["keep-ledger", "use-recovered"] as const;

/** One of {@link conflictChoices}. */
export type ConflictChoice = (typeof conflictChoices)[number];

/**
 * The result of replaying a recovery record.
 *
 * | type | meaning |
 * |---|---|
 * | recorded | the ledger recorded the outcome and its effects |
 * | known | the ledger had recorded the effects before; it now has the outcome as well |
 * | noted | the ledger recorded the outcome without its effects, because of `keep-ledger` |
 * | conflict | the record contradicts the ledger, which is unchanged; `ledger` is what the ledger holds |
 *
 * `otherProduct` is the product that the ledger had for the same publication or copy: it exists, too.
 */
export type ReplayResult = (
  | { readonly type: "recorded" | "known" | "noted" }
  | { readonly type: "conflict"; readonly ledger: string }
) & { readonly otherProduct?: number };
