import pLimit from "p-limit";
import type { Finding, Look, Sighting } from "../model/observed.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { Clock, ReadOptions, ServiceReader } from "../model/ports.ts";

/** What looking works with. */
export interface LookAroundOptions {
  readonly looks: readonly Look[];
  readonly reader: ServiceReader;
  /** The most requests that may be dispatched; retries count. */
  readonly maxCalls: number;
  /** Looks under way at the same time. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** The user's interrupt: no look begins after it; those on their way are awaited. */
  readonly signal: AbortSignal;
}

/** What was seen. Looks that are not among the sightings did not take place. */
export interface LookAroundResult {
  readonly sightings: readonly Sighting[];
  readonly calls: number;
  /** Present when the service cannot be worked with at all, such as a key that is not accepted. */
  readonly stopped?: CallFailure;
}

/** Failures of a call that was never made, so that nothing was looked at. */
export const neverMade: ReadonlySet<string> = new Set(["call-budget-exhausted", "aborted"]);

/** Carries out looks, in order, as far as the budget goes. Never throws for what the service or the network does. */
export async function lookAround(options: LookAroundOptions): Promise<LookAroundResult> {
  const { looks, maxCalls, concurrency, clock } = options;
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
  const sightings: Sighting[] = [];
  let calls = 0;
  let stopped: CallFailure | undefined;

  await Promise.all(
    looks.map((look) =>
      limit(async () => {
        if (left <= 0 || signal.aborted) return;
        const { sighting, attempts, failure } = await lookAt(look, options.reader, { signal, budget });
        calls += attempts;
        if (failure?.stops === "run" && !neverMade.has(failure.code)) {
          stopped ??= failure;
          halt.abort();
        }
        if (sighting !== undefined) sightings.push(sighting(clock.now()));
      }),
    ),
  );
  return { sightings, calls, ...(stopped === undefined ? {} : { stopped }) };
}

interface Seen {
  /** Absent when the look did not take place. */
  readonly sighting?: (at: number) => Sighting;
  readonly attempts: number;
  readonly failure?: CallFailure;
}

async function lookAt(look: Look, reader: ServiceReader, options: ReadOptions): Promise<Seen> {
  switch (look.type) {
    case "attachment": {
      const result = await reader.probe(look.target, options);
      return seen(result, "not-attached", (finding, at) => ({ ...look, at, finding }));
    }
    case "product": {
      const result = await reader.lookAtProduct(look.productId, options);
      return seen(result, "gone", (finding, at) => ({ ...look, at, finding }));
    }
    case "uploads": {
      const result = await reader.lookAtUploads(look.uploadIds, options);
      return seen(result, undefined, (finding, at) => ({ ...look, at, finding }));
    }
  }
}

/** `absence` is the failure that says that the thing is not there. */
function seen<T>(
  result: CallResult<T>,
  absence: string | undefined,
  make: (finding: Finding<T>, at: number) => Sighting,
): Seen {
  const { attempts } = result;
  if (result.outcome === "done") {
    const finding: Finding<T> = { type: "present", value: result.value };
    return { attempts, sighting: (at) => make(finding, at) };
  }
  const { failure } = result;
  if (neverMade.has(failure.code)) return { attempts, failure };
  const finding: Finding<T> = failure.code === absence ? { type: "absent" } : { type: "unreadable", failure };
  return { attempts, failure, sighting: (at) => make(finding, at) };
}
