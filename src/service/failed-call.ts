import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { Call } from "./calls.ts";

/** A call that did not succeed. */
export type Failed<T> = Extract<CallResult<T>, { failure: CallFailure }>;

/**
 * The end of several attempts. An attempt that is in doubt is not proven undone by a later one that was not sent or was
 * refused, unless that one shows that the resource does not exist.
 */
export function combine<T>(call: Call<T>, earlier: Failed<T> | undefined, latest: Failed<T>): Failed<T> {
  const { code } = latest.failure;
  const isConclusive = latest.outcome === "unknown" || code === "gone" || code === "not-attached";
  const isRead = call.callClass === "read" || call.isProbe === true;
  if (isRead || earlier?.outcome !== "unknown" || isConclusive) return latest;
  return {
    ...earlier,
    failure: { ...earlier.failure, stops: latest.failure.stops },
    attempts: latest.attempts,
  };
}

/** The result, which also stops the run. */
export function stopRun<T>(result: Failed<T>): Failed<T> {
  return withStop(result, "run");
}

/** The result with what it stops, unless it stops more already. */
export function withStop<T>(result: Failed<T>, stops: CallFailure["stops"]): Failed<T> {
  if (stops === "operation" || result.failure.stops === "run") return result;
  return { ...result, failure: { ...result.failure, stops } };
}
