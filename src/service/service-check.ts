import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { ReadOptions } from "../model/ports.ts";
import { fetchProductCall, getUploadCall } from "./calls.ts";
import type { Executor } from "./executor.ts";
import { describeFailure } from "./failures.ts";
import type { ServiceProfile } from "./profile.ts";

/** A call that must not be sent to anything but the service, and the product it concerns, if one is known. */
export interface CheckedCall {
  /** As in an HTTP trace: method and path. */
  readonly request: string;
  readonly productId: number | undefined;
}

/** Any JSON:API document counts as an answer, so the upload need not exist. */
const anyUploadId = "0";

/** Failures of the read that have a cause of their own: it was not sent, or the service may respond to other calls. */
const ownCauses: ReadonlySet<string> = new Set([
  "aborted",
  "call-budget-exhausted",
  "server-error",
  "timeout",
  "connection-reset",
]);

/**
 * Before the first publish or duplicate the service must have returned a JSON:API document: a portal, proxy or wrong
 * address that answers a publish would leave it in doubt. Without one, something is read first, once for all callers.
 */
export class ServiceCheck {
  readonly #executor: Executor;
  readonly #profile: ServiceProfile;
  #reading: Promise<CallResult<unknown>> | undefined;

  constructor(executor: Executor, profile: ServiceProfile) {
    this.#executor = executor;
    this.#profile = profile;
  }

  /** Sends a call once the service is known to answer; otherwise ends it `not_sent`. */
  async send<T>(
    call: CheckedCall,
    { signal, budget }: ReadOptions,
    send: () => Promise<CallResult<T>>,
  ): Promise<CallResult<T>> {
    while (!this.#executor.hasResponded) {
      const others = this.#reading;
      const read = await (others ?? this.#begin(call.productId, { signal, budget }));
      if (read.outcome === "done") break;
      const { failure } = read;
      // The caller that started the read was stopped; this one was not, and reads again.
      if (others !== undefined && failure.code === "aborted" && !signal.aborted) continue;
      if (this.#executor.hasResponded && failure.stops !== "run") break;
      return { outcome: "not_sent", failure: failureOf(call, failure), attempts: 0 };
    }
    return send();
  }

  #begin(productId: number | undefined, options: ReadOptions): Promise<CallResult<unknown>> {
    const read: Promise<CallResult<unknown>> =
      productId === undefined
        ? this.#executor.execute(getUploadCall(anyUploadId, this.#profile), options)
        : this.#executor.execute(fetchProductCall(productId, this.#profile), options);
    this.#reading = read.finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }
}

/** A failure that has its own cause keeps its code and hint; anything that answered and is not the service gets one. */
function failureOf({ request }: CheckedCall, read: CallFailure): CallFailure {
  if (read.stops === "run" || ownCauses.has(read.code)) return read;
  return describeFailure({ code: "service-not-confirmed", request, stops: "run", detail: read.message });
}
