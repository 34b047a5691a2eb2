import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { Outcome } from "../model/outcome.ts";
import type { LedgerEffect, NewOperation, OperationResult } from "../model/ports.ts";

/** A call that was sent and has ended, and everything that the ledger was to take in of it. */
export interface UnrecordedOutcome {
  readonly operation: NewOperation;
  readonly result: OperationResult;
  readonly effects: readonly LedgerEffect[];
  /** What the answer told; absent when there was none that could be read. */
  readonly value?: unknown;
}

const words: Readonly<Record<Outcome, string>> = {
  done: "done",
  rejected: "refused",
  not_sent: "not sent",
  unknown: "no answer",
};

/**
 * The ledger failed (`cause`) after calls had been sent. It holds their intents, so the next plan shows each of them
 * in doubt; `outcomes` holds what it would have taken to record them.
 */
export class OutcomesNotRecordedError extends DraftsyncError {
  override readonly name = "OutcomesNotRecordedError";
  /** At least one, in the order in which the calls ended. */
  readonly outcomes: readonly UnrecordedOutcome[];

  constructor(outcomes: readonly UnrecordedOutcome[], cause: unknown) {
    super(`${messageOf(cause)} What was sent could not be recorded: ${outcomes.map(nameOf).join("; ")}.`, {
      code: "outcome-not-recorded",
      hint: "The ledger shows these calls in doubt until they are settled: keep this message, then run plan.",
      cause,
    });
    this.outcomes = outcomes;
  }
}

/** Waits for all of them, also when some fail; then throws the first failure, with every outcome that was not recorded. */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const ends = await Promise.allSettled(work);
  const reasons = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
  if (reasons.length > 0) throw joinFailures(reasons);
  return ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
}

/** Changes that share an upload fail with the same error, so an outcome may come more than once. */
function joinFailures(reasons: readonly unknown[]): unknown {
  const unrecorded = reasons.filter((reason) => reason instanceof OutcomesNotRecordedError);
  const [first] = unrecorded;
  if (first === undefined) return reasons[0];
  const outcomes = new Map(
    unrecorded.flatMap((error) => error.outcomes).map((outcome) => [outcome.operation.id, outcome]),
  );
  return new OutcomesNotRecordedError([...outcomes.values()], first.cause);
}

function nameOf({ operation, result, value }: UnrecordedOutcome): string {
  const { method, path, address } = operation;
  return `${method} ${path} for ${address} (${words[result.outcome]}${productOf(value)})`;
}

/** The id of a product that was made: nothing else will tell it. */
function productOf(value: unknown): string {
  if (typeof value !== "object" || value === null || !("productId" in value)) return "";
  return `, product ${String(value.productId)}`;
}
