import type { CallResult } from "../model/outcome.ts";
import type { LedgerEffect, OperationResult, WriteOptions } from "../model/ports.ts";
import type { OperationIntent, OperationKind } from "../model/recorded.ts";
import type { ApplyContext } from "./context.ts";
import { newId } from "./context.ts";

/** What the journal of a call needs of its run. */
export type JournalContext = Pick<ApplyContext, "ledger" | "runId" | "signal">;

/** One writing call, and what follows from it in the ledger. */
export interface OperationRequest<T> {
  /** Made by {@link newId} when absent. */
  readonly id?: string;
  readonly address: string;
  readonly kind: OperationKind;
  readonly intent: OperationIntent;
  /** Aborting it keeps the call from starting; the run's signal when absent. */
  readonly signal?: AbortSignal;
  readonly call: (options: WriteOptions) => Promise<CallResult<T>>;
  /** What the ledger takes from an answer. */
  readonly effects: (result: CallResult<T>) => readonly LedgerEffect[];
}

/**
 * The journal of one writing call:
 *
 * ```
 *   rate slot ──► intent durable ──► first byte … answer ──► outcome and effects durable ──► reported
 * ```
 *
 * The intent is stored only when the call is about to leave, so that a crash while hundreds wait for the rate bound
 * leaves in doubt only those that may have been sent. A call that never got that far leaves no trace.
 */
export async function runOperation<T>(
  context: JournalContext,
  request: OperationRequest<T>,
): Promise<CallResult<T> & { readonly operationId: string }> {
  const { ledger, runId } = context;
  const { address, kind, intent } = request;
  const id = request.id ?? newId();
  let begun = false;
  const result = await request.call({
    signal: request.signal ?? context.signal,
    beforeSend: async ({ method, path }) => {
      await ledger.begin({ id, runId, address, kind, method, path, intent });
      begun = true;
    },
  });
  if (begun) await ledger.finish(id, operationResult(result), request.effects(result));
  return { ...result, operationId: id };
}

function operationResult(result: CallResult<unknown>): OperationResult {
  const { outcome, attempts } = result;
  if (result.outcome === "done") return { outcome, attempts, status: result.status };
  const { failure } = result;
  return { outcome, attempts, failure, ...(failure.status === undefined ? {} : { status: failure.status }) };
}
