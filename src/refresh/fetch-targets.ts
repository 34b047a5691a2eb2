import pLimit from "p-limit";
import { draftIdOf } from "../model/address.ts";
import type { Observation, ReadResult, RefreshTarget } from "../model/observed.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { Clock, ReadOptions, ServiceReader } from "../model/ports.ts";

/** Options of {@link fetchTargets}. */
export interface FetchTargetsOptions {
  readonly targets: readonly RefreshTarget[];
  readonly reader: ServiceReader;
  /** The most requests that may be dispatched; retries count. */
  readonly maxCalls: number;
  /** Requests in flight at the same time. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** The user's interrupt: no request starts after it; those in flight are awaited. */
  readonly signal: AbortSignal;
}

/** The result of {@link fetchTargets}. A target without an observation was not requested. */
export interface FetchTargetsResult {
  readonly observations: readonly Observation[];
  readonly calls: number;
  /** Present when the service is unusable as a whole, such as when it rejects the key. */
  readonly stopped?: CallFailure;
}

/** Codes of failures that mean no request was sent. */
export const neverMade: ReadonlySet<string> = new Set(["call-budget-exhausted", "aborted"]);

/** Whether a failure means that the service takes no more calls for now: the quota of a key is used up. */
export function isQuotaUsedUp({ code, stops }: Pick<CallFailure, "code" | "stops">): boolean {
  return stops === "run" && quotaCodes.has(code);
}

/** Codes of such failures. */
export const quotaCodes: ReadonlySet<string> = new Set(["retry-after-too-long", "rate-limited"]);

/** Fetches targets in order until the budget is used up. Never throws for a failure of the service or the network. */
export async function fetchTargets(options: FetchTargetsOptions): Promise<FetchTargetsResult> {
  const { targets, maxCalls, concurrency } = options;
  const halt = new AbortController();
  const signal = AbortSignal.any([options.signal, halt.signal]);
  let left = maxCalls;
  const budget = {
    take: () => {
      left -= 1;
      return left >= 0;
    },
  };
  const limit = pLimit(concurrency);
  const observations: Observation[] = [];
  let calls = 0;
  let stopped: CallFailure | undefined;

  await Promise.all(
    targets.map((target) =>
      limit(async () => {
        if (left <= 0 || signal.aborted) return;
        const call = fetchTarget(target, options, { signal, budget });
        const { observation, attempts, failure } = await call;
        calls += attempts;
        if (failure?.stops === "run" && !neverMade.has(failure.code)) {
          stopped ??= failure;
          halt.abort();
        }
        if (observation !== undefined) observations.push(observation);
      }),
    ),
  );
  return { observations, calls, ...(stopped === undefined ? {} : { stopped }) };
}

interface FetchedTarget {
  /** Absent when no request was sent. */
  readonly observation?: Observation;
  readonly attempts: number;
  readonly failure?: CallFailure;
}

async function fetchTarget(
  target: RefreshTarget,
  { reader, clock }: Pick<FetchTargetsOptions, "reader" | "clock">,
  options: ReadOptions,
): Promise<FetchedTarget> {
  // An answer may be about the time before the call waited, for a retry or on its way.
  const at = clock.now();
  switch (target.type) {
    case "attachment": {
      const result = await reader.probe(target.target, options);
      return fetched(result, "not-attached", (read) => ({ ...target, at, read }));
    }
    case "product": {
      const { productId } = target;
      const product = { productId, draftId: draftIdOf(target.address) };
      const result = await reader.fetchProduct(product, options);
      return fetched(result, "gone", (read) => ({ ...target, at, read }));
    }
    case "uploads": {
      const result = await reader.fetchUploads(target.uploadIds, options);
      return fetched(result, undefined, (read) => ({ ...target, at, read }));
    }
  }
}

/** `absence` is the failure code that means the resource does not exist. */
function fetched<T>(
  result: CallResult<T>,
  absence: string | undefined,
  make: (read: ReadResult<T>) => Observation,
): FetchedTarget {
  const { attempts } = result;
  if (result.outcome === "done") {
    const read: ReadResult<T> = { type: "present", value: result.value };
    return { attempts, observation: make(read) };
  }
  const { failure } = result;
  // What a quota refused was not read, so it stays first in line.
  if (neverMade.has(failure.code) || isQuotaUsedUp(failure)) return { attempts, failure };
  const read: ReadResult<T> = failure.code === absence ? { type: "absent" } : { type: "unreadable", failure };
  return { attempts, failure, observation: make(read) };
}
