import { z } from "zod";
import { effectSchema } from "./effect.ts";
import { outcomes, storedFailureSchema } from "./outcome.ts";
import { newOperationSchema } from "./recorded.ts";

const text = z.string();

/** An outcome in the recovery log, until it is replayed into the ledger. */
export const recoveryRecordSchema = z.strictObject({
  /** Of the ledger that holds the intent. */
  lineage: text.min(1),
  /** The ledger's owner: the service's address in its normal form (or `sandbox`), and the workspace's name. */
  owner: z.strictObject({ origin: text, workspace: text }).readonly(),
  /** The command that sent the call. */
  command: text,
  /** The lock that it held. Its run has failed, so `state recover` need not wait for the end of the lease. */
  lockId: text.exactOptional(),
  /** The last serial that its run has committed. A ledger with a smaller one was restored from a backup. */
  serial: z.int().exactOptional(),
  /** Epoch milliseconds. */
  savedAt: z.int(),
  operation: newOperationSchema
    .extend({ id: text.min(1), runId: text.min(1) })
    .strict()
    .readonly(),
  result: z
    .strictObject({
      outcome: z.enum(outcomes),
      status: z.int().exactOptional(),
      attempts: z.int(),
      failure: storedFailureSchema.exactOptional(),
    })
    .readonly(),
  effects: z.array(effectSchema).readonly(),
  /** The product that the call created, if it did: it is recorded nowhere else. */
  productId: z.int().exactOptional(),
});

/** {@link recoveryRecordSchema} */
export type RecoveryRecord = Readonly<z.output<typeof recoveryRecordSchema>>;

/** The owner of a ledger. */
export type LedgerOwner = RecoveryRecord["owner"];

/** How a stored operation ended. */
export type OperationResult = RecoveryRecord["result"];

/** A call that was sent and has ended, with everything that the ledger has to record of it. */
export type UnrecordedOutcome = Pick<RecoveryRecord, "operation" | "result" | "effects" | "productId">;

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
 * | in_doubt | the ledger may know something newer about the file: it recorded the call in doubt |
 * | known | the ledger had recorded the effects before; it now has the outcome as well |
 * | noted | the ledger recorded the outcome without its effects, because of `keep-ledger` |
 * | conflict | the record contradicts the ledger, which is unchanged; `ledger` is what the ledger holds |
 *
 * `otherProduct` is the product that the ledger had for the same publication or copy: it exists, too.
 */
export type ReplayResult = (
  | { readonly type: "recorded" | "in_doubt" | "known" | "noted" }
  | { readonly type: "conflict"; readonly ledger: string }
) & { readonly otherProduct?: number };
