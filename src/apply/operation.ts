import { DraftsyncError } from "../model/errors.ts";
import type { CallResult } from "../model/outcome.ts";
import type { LedgerEffect, NewOperation, OperationResult, WriteOptions } from "../model/ports.ts";
import type { OperationIntent, OperationKind } from "../model/recorded.ts";
import type { UnrecordedOutcome } from "../model/recovery.ts";
import type { ApplyContext } from "./context.ts";
import { newOperationId } from "./context.ts";
import type { OperationBudget } from "./run-budget.ts";
import { OutcomesNotRecordedError } from "./unrecorded.ts";

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
  const id = newOperationId();
  let begun: NewOperation | undefined;
  let isRefused = false;
  const result = await request.call({
    address,
    signal: request.signal ?? context.signal,
    budget,
    beforeSend: async ({ method, path }) => {
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
