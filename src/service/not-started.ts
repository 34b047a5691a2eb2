import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { CallFailure } from "../model/outcome.ts";
import type { RequestLine } from "../model/ports.ts";
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

/** What kept a call that was stored from being sent, such as a lost lock. */
export function notSentBecause(error: unknown): CallFailure {
  const { code, hint } = error instanceof DraftsyncError ? error : { code: "defect", hint: undefined };
  return {
    code,
    message: messageOf(error),
    ...(hint === undefined ? {} : { hint }),
    errors: [],
    stops: "run",
  };
}
