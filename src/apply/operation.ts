import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { CallResult, Outcome } from "../model/outcome.ts";
import type { LedgerEffect, NewOperation, OperationResult, WriteOptions } from "../model/ports.ts";
import { makesProduct, type OperationIntent, type OperationKind } from "../model/recorded.ts";
import type { UnrecordedOutcome } from "../model/recovery.ts";
import type { ApplyContext } from "./context.ts";
import { newOperationId } from "./context.ts";
import type { OperationBudget } from "./run-budget.ts";

/** What the journal of a call needs of its run. */
export type JournalContext = Pick<ApplyContext, "ledger" | "bind" | "runId" | "signal" | "outcomes">;

/** How a writing call ended; one that did not end done may have to be settled, and is named. */
export type OperationEnd<T> =
  | Extract<CallResult<T>, { outcome: "done" }>
  | (Exclude<CallResult<T>, { outcome: "done" }> & { readonly operationId: string });

/** One writing call, and what follows from it in the ledger. */
export interface OperationRequest<T> {
  readonly address: string;
  readonly kind: OperationKind;
  readonly intent: OperationIntent;
  /** Aborting it keeps the call from starting; the run's signal when absent. */
  readonly signal?: AbortSignal;
  /** Of the change that the call is part of; absent without limits. */
  readonly budget?: OperationBudget | undefined;
  readonly call: (options: WriteOptions) => Promise<CallResult<T>>;
  /** What the ledger takes from an answer. */
  readonly effects: (result: CallResult<T>) => readonly LedgerEffect[];
}

/**
 * The journal of one writing call:
 *
 * ```
 *   rate reservation ──► intent durable ──► first byte … answer ──► outcome and effects durable ──► reported
 * ```
 *
 * The intent is stored only when the call is about to leave, so that a crash while hundreds wait for the rate bound
 * leaves in doubt only the few that were sent or about to be. A call that never got that far leaves no trace. A call that
 * is sent again is stored again: for that, the lock must still be held.
 *
 * Rejects when the ledger fails: before the call with the ledger's error, and nothing was sent; after it with
 * {@link OutcomesNotRecordedError}, and then the tracker has saved the outcome.
 */
export async function runOperation<T>(
  context: JournalContext,
  request: OperationRequest<T>,
): Promise<OperationEnd<T>> {
  const { ledger, runId } = context;
  const { address, kind, intent, budget } = request;
  let id = newOperationId();
  let begun: NewOperation | undefined;
  let isRefused = false;
  const result = await request.call({
    address,
    signal: request.signal ?? context.signal,
    budget,
    beforeSend: async ({ method, path }) => {
      // Ids begin with the time, and a call may have waited hours for the rate limit.
      if (begun === undefined) id = newOperationId();
      const operation = { id, runId, address, kind, method, path, intent };
      if (begun === undefined) await ledger.begin(operation);
      else {
        await ledger.resend(id).catch((error: unknown) => {
          // Any other failure may have come after the commit.
          isRefused &&= error instanceof DraftsyncError && error.code === "lock-lost";
          throw error;
        });
      }
      begun = operation;
      isRefused = false;
    },
    // A kill while it waits leaves nothing in doubt.
    onRefused: async (refused) => {
      await ledger.finish(id, operationResult(refused), []);
      isRefused = true;
    },
  });
  if (begun !== undefined && !isRefused)
    await finish(context, begun, { result, effects: request.effects(result) });
  return result.outcome === "done" ? result : { ...result, operationId: id };
}

async function finish<T>(
  { ledger, bind, outcomes }: JournalContext,
  operation: NewOperation,
  end: { readonly result: CallResult<T>; readonly effects: readonly LedgerEffect[] },
): Promise<void> {
  const { effects } = end;
  const result = operationResult(end.result);
  const outcome: UnrecordedOutcome = { operation, result, effects, ...productOf(end.result) };
  const tracked = outcomes.track(outcome);
  try {
    if (result.outcome === "done") await bind();
    await ledger.finish(operation.id, result, effects);
  } catch (error) {
    const path = tracked.save();
    throw new OutcomesNotRecordedError([{ ...outcome, ...(path === undefined ? {} : { path }) }], error);
  }
  tracked.release();
}

function operationResult(result: CallResult<unknown>): OperationResult {
  const { outcome, attempts } = result;
  if (result.outcome === "done") return { outcome, attempts, status: result.status };
  const { failure } = result;
  return { outcome, attempts, failure, ...(failure.status === undefined ? {} : { status: failure.status }) };
}

function productOf(result: CallResult<unknown>): { readonly productId?: number } {
  if (result.outcome !== "done" || typeof result.value !== "object" || result.value === null) return {};
  if (!("productId" in result.value) || typeof result.value.productId !== "number") return {};
  return { productId: result.value.productId };
}

/** An outcome that the ledger did not record, and where it was saved. */
export interface LostRecord extends UnrecordedOutcome {
  /** Of the recovery log; absent when it could not be written, and the outcome was printed instead. */
  readonly path?: string;
}

/** Outcomes that the error names; the recovery log has all of them. */
const maxShown = 5;

const words: Readonly<Record<Outcome, string>> = {
  done: "done",
  rejected: "refused",
  not_sent: "not sent",
  unknown: "no answer",
};

/**
 * The ledger failed (`cause`) after calls had been sent. It holds their intents, and `outcomes` what it would have taken
 * to record them; each was given to the tracker before this was thrown.
 */
export class OutcomesNotRecordedError extends DraftsyncError {
  override readonly name = "OutcomesNotRecordedError";
  /** At least one, in the order in which the calls ended. */
  readonly outcomes: readonly LostRecord[];

  constructor(outcomes: readonly LostRecord[], cause: unknown) {
    const what = outcomes.length === 1 ? "1 outcome" : `${outcomes.length} outcomes`;
    super(`${messageOf(cause)} ${what} could not be recorded.`, {
      code: "outcome-not-recorded",
      details: detailsOf(outcomes),
      hint: hintFor(outcomes, cause),
      cause,
    });
    this.outcomes = outcomes;
  }
}

function hintFor(outcomes: readonly LostRecord[], cause: unknown): string {
  const fix = fixOf(cause);
  if (outcomes.every(({ path }) => path !== undefined))
    return `${fix}, then run \`draftsync state recover\`: nothing is planned or written before.`;
  return (
    `${fix}. The recovery log could not be written: save the JSON lines above to a file, then run ` +
    "`draftsync state recover FILE` before anything else."
  );
}

/** A lost lock is no damage to the ledger: another command holds it. */
function fixOf(cause: unknown): string {
  return cause instanceof DraftsyncError && cause.code === "lock-lost"
    ? "Wait until the lock is free (`draftsync lock status`)"
    : "Fix the ledger";
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

/** A handful, those first that cannot be undone, and where all of them are. */
function detailsOf(outcomes: readonly LostRecord[]): readonly string[] {
  const isFinal = ({ operation: { kind } }: LostRecord) => makesProduct(kind);
  const shown = [...outcomes.filter(isFinal), ...outcomes.filter((one) => !isFinal(one))].slice(0, maxShown);
  const more = outcomes.length - shown.length;
  const paths = outcomes.flatMap(({ path }) => (path === undefined ? [] : [path]));
  return [
    ...shown.map(nameOf),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...[...new Set(paths)].map((path) => `saved in ${path}`),
  ];
}

function nameOf({ operation, result, productId, path }: LostRecord): string {
  const { method, address } = operation;
  const product = productId === undefined ? "" : `, product ${productId}`;
  const printed = path === undefined ? ", printed above as JSON" : "";
  return `${method} ${operation.path} for ${address}: ${words[result.outcome]}${product}${printed}`;
}
