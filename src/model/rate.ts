import { parseId } from "./address.ts";
import { parseDuration } from "./time.ts";

/** The bound: at most `limit` calls at the service in any window of `windowMs`. */
export interface RateBound {
  readonly limit: number;
  readonly windowMs: number;
}

/** What a process changes in the table of reservations and asks of it. Times in milliseconds. */
export interface ReservationRequest {
  /** The bound of this process; the table's is the smallest limit and the longest window in it. */
  readonly bound: RateBound;
  /** How long after its reservation a call has ended, even if its process cannot be judged. */
  readonly callMs: number;
  /** How long a call may still arrive after its connection closed. */
  readonly settleMs: number;
  /** New ids, one a call. */
  readonly wanted: readonly string[];
  /** Calls that ended, and for how long they can no longer arrive; negative: so long from now. */
  readonly ended: readonly { readonly ids: readonly string[]; agoMs(): number }[];
  /** Reserved calls that were not sent. */
  readonly unsent: readonly string[];
  /** The wait that the service asked for, from now. */
  readonly pauseMs: number;
}

/** The response to a {@link ReservationRequest}. */
export interface ReservationResult {
  /** How many of `wanted` are reserved, from the first on. */
  readonly reserved: number;
  /** When the next one is free, if fewer are reserved than wanted and it does not depend on the end of a call. */
  readonly freeInMs?: number;
  /** How long the service wants no calls. */
  readonly pausedMs: number;
}

/** The table of reservations, which outlives the processes that share it. */
export interface RateStore {
  /** One transaction. Resolves once it is durable. */
  reserve(request: ReservationRequest): Promise<ReservationResult>;
}

/** Reads `10/1s`, `600/1m` or `10/s`; `undefined` for anything else. */
export function parseRate(text: string): RateBound | undefined {
  const [count = "", window = "", ...rest] = text.split("/");
  const windowMs = parseDuration(/^\d/.test(window) ? window : `1${window}`);
  const limit = parseId(count);
  if (limit === undefined || windowMs === undefined || windowMs === 0 || rest.length > 0) return undefined;
  return { limit, windowMs };
}
