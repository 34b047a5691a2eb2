import type { ProcessIdentity } from "./process.ts";

/**
 * How the processes that share a ledger divide the rate bound among themselves.
 *
 * Each holds a number of the bound's slots and keeps the rule of the rate window within them by its own monotonic clock;
 * the numbers add up to no more than the bound. So the calls that are in flight, or ended within the last window, are
 * fewer than the bound over all of them together, and no clocks have to agree.
 */
export interface SlotTable {
  readonly shares: readonly SlotShare[];
  /** The longest wait that the service has asked any of them for. */
  readonly pause?: SlotPause;
}

/** The slots of one process. Moments are milliseconds of the store's clock; durations are milliseconds. */
export interface SlotShare {
  /** Names this share; a process that lost one takes another under a new name. */
  readonly owner: string;
  readonly process: ProcessIdentity;
  /** It has no more calls than this in flight or counted. */
  readonly slots: number;
  /** It has no more calls than this in flight: what may still reach the server after it was killed. */
  readonly inFlight: number;
  /** How many slots it could use. */
  readonly wanted: number;
  /** How long a call counts after its end. */
  readonly windowMs: number;
  /** How long a call whose end nobody saw may still be on its way to the server. */
  readonly holdMs: number;
  /** How long one of its calls may take. */
  readonly timeoutMs: number;
  /** When it last had slots; 0 when it never had. */
  readonly servedAt: number;
  readonly renewedAt: number;
  /** From then on it has started no call: it has left, or was found dead. */
  readonly endedAt?: number;
}

/** No call before `setAt + ms`, by the store's clock. */
export interface SlotPause {
  readonly setAt: number;
  readonly ms: number;
}

/** Where the slots are kept, so that they outlive the processes. */
export interface SlotStore {
  /**
   * Puts what `decide` makes of the table in its place, in one transaction, and resolves with that once it is durable.
   * `now` is read from a clock that all who share the store share, and that may have been set back since a moment in the
   * table was noted. `decide` may be called more than once before one of its answers is stored.
   */
  updateSlots(decide: (table: SlotTable, now: number) => SlotTable): Promise<SlotTable>;
}
