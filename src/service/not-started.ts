import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { BeforeSend, RequestLine, WriteOptions } from "../model/ports.ts";
import { untilText } from "../model/time.ts";
import { describeFailure } from "./failures.ts";
import type { Grant } from "./rate-limiter.ts";

/** Why there is no right to send. */
export function failureOf(
  grant: Exclude<Grant, { type: "slot" }>,
  { method, path }: RequestLine,
  now: number,
): CallFailure {
  const request = `${method} ${path}`;
  switch (grant.type) {
    case "interrupted":
      return describeFailure({ code: "aborted", request, stops: "run" });
    case "too_long": {
      const detail = untilText(now + grant.waitMs);
      return describeFailure({ code: "retry-after-too-long", request, stops: "run", detail });
    }
    case "failed": {
      const detail = messageOf(grant.error);
      return describeFailure({ code: "rate-limiter-unavailable", request, stops: "run", detail });
    }
  }
}

/** A call that its budget does not allow. */
export function callBudgetExhausted({ method, path }: RequestLine): CallFailure {
  return describeFailure({ code: "call-budget-exhausted", request: `${method} ${path}`, stops: "operation" });
}

/** A call that is stored before it is sent. */
interface StoredCall {
  readonly call: RequestLine;
  readonly options: {
    readonly beforeSend?: BeforeSend;
    readonly onRefused?: WriteOptions["onRefused"];
  };
  /** Whether `beforeSend` was there once: its intent is stored. */
  isStored: boolean;
}

/** Why the call must not be sent again, such as a lost lock; its slot is free then. Throws when the call was not even stored. */
export async function prepare(
  stored: StoredCall,
  slot: { readonly cancel: () => void },
): Promise<CallFailure | undefined> {
  const { method, path } = stored.call;
  try {
    await stored.options.beforeSend?.({ method, path });
    stored.isStored = true;
    return undefined;
  } catch (error) {
    slot.cancel();
    if (!stored.isStored) throw error;
    const { code, hint } = error instanceof DraftsyncError ? error : { code: "defect", hint: undefined };
    const why = { code, message: messageOf(error), ...(hint === undefined ? {} : { hint }) };
    return { ...why, errors: [], stops: "run" };
  }
}

/** False when it could not be stored: then the ledger fails, and the call is not sent again. */
export async function storeRefusal(
  { options }: StoredCall,
  refused: Exclude<CallResult<never>, { outcome: "done" }>,
): Promise<boolean> {
  try {
    await options.onRefused?.(refused);
    return true;
  } catch {
    return false;
  }
}
