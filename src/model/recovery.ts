import type { LedgerEffect, LedgerOwner, NewOperation, OperationResult } from "./ports.ts";

/** A call that was sent and has ended, and everything that the ledger was to take in of it. */
export interface UnrecordedOutcome {
  readonly operation: NewOperation;
  readonly result: OperationResult;
  readonly effects: readonly LedgerEffect[];
  /** The product that it made, when it made one: nothing else will tell it. */
  readonly productId?: number;
}

/** An {@link UnrecordedOutcome} as it is kept outside the ledger until the ledger can take it in. */
export interface KeptOutcome extends UnrecordedOutcome {
  /** Of the ledger that holds its intent. */
  readonly lineage: string;
  readonly owner: LedgerOwner;
  /** The command that sent the call. */
  readonly command: string;
  /** The lock that it held. It has failed, so `state recover` need not wait for the end of its lease. */
  readonly lockId?: string;
  /** Epoch milliseconds. */
  readonly keptAt: number;
}

/** Keeps outcomes that the ledger fails to record. */
export interface OutcomeKeeper {
  /** Holds an outcome while the ledger records it: one that is still held when the process ends is kept, too. */
  hold(outcome: UnrecordedOutcome): HeldOutcome;
}

/** An outcome on its way into the ledger. Exactly one of the two is called, once, when the ledger has answered. */
export interface HeldOutcome {
  /** The ledger has it. */
  release(): void;
  /**
   * The ledger failed. Returns once the outcome is durable, with the path of its file; `undefined` when no file could be
   * written, and it was handed to the user instead. Synchronous, so that nothing happens in between; never throws.
   */
  keep(): string | undefined;
}

/** Which of the two is believed when a kept outcome contradicts the ledger. */
export type Preference = "ledger" | "outcome";

/**
 * What became of a kept outcome at the ledger.
 *
 * | type | says |
 * |---|---|
 * | recorded | the ledger holds it, with what follows from it |
 * | known | the ledger held it already, or as much as follows from it; its end is noted where it was not |
 * | noted | its end is noted and nothing follows from it: the ledger was preferred |
 * | conflict | it contradicts the ledger, which was not changed; `ledger` says what the ledger holds |
 */
export type TakenIn =
  | { readonly type: "recorded" | "known" | "noted" }
  | { readonly type: "conflict"; readonly ledger: string };
