import type { RateBound } from "../model/rate.ts";

/**
 * The rule that keeps the bound at the server, whatever the network does to the calls in flight:
 * *send only while (calls in flight + calls that ended within the last `windowMs`) < `limit`.*
 *
 * When the last of any `limit + 1` arrivals was sent, each other one was in flight or had ended at most `windowMs`
 * before; so the rule had forbidden it. Nothing is assumed about delays, and no clock but one monotonic one is read.
 *
 * ```
 *   take ──> in flight ──release(hold)──> counted until (now + windowMs + hold) ──> free
 *                └──────cancel (never sent)──────────────────────────────────────> free
 * ```
 *
 * A pure state machine: the caller passes the time (monotonic milliseconds, never decreasing).
 */
export class RateWindow {
  readonly #bound: RateBound;
  #inFlight = 0;
  /** Until when ended calls count, ascending. */
  readonly #counted: number[] = [];

  constructor(bound: RateBound) {
    this.#bound = bound;
  }

  /** How many more calls the rule allows; negative when `capacity` was lowered. It may lower the limit, never raise it. */
  room(now: number, capacity: number = this.#bound.limit): number {
    this.#prune(now);
    return Math.min(capacity, this.#bound.limit) - this.#inFlight - this.#counted.length;
  }

  /** Whether the rule allows one more call. */
  hasRoom(now: number, capacity?: number): boolean {
    return this.room(now, capacity) > 0;
  }

  /** Takes a slot when the rule allows it. */
  take(now: number, capacity?: number): boolean {
    if (!this.hasRoom(now, capacity)) return false;
    this.#inFlight += 1;
    return true;
  }

  /**
   * A call that was sent has ended. `holdMs` keeps its slot for longer: a call whose answer never came may still be
   * on its way to the server.
   */
  release(now: number, holdMs = 0): void {
    this.#inFlight -= 1;
    const until = now + this.#bound.windowMs + holdMs;
    this.#counted.splice(this.#counted.findLastIndex((each) => each <= until) + 1, 0, until);
  }

  /** Returns a slot that was taken without a call. */
  cancel(): void {
    this.#inFlight -= 1;
  }

  /** When a slot is free at the earliest without a call in flight ending; `undefined` when one has to end first. */
  nextAt(now: number, capacity: number = this.#bound.limit): number | undefined {
    this.#prune(now);
    const tooMany = this.#inFlight + this.#counted.length - Math.min(capacity, this.#bound.limit);
    return tooMany < 0 ? now : this.#counted[tooMany];
  }

  /** Both ends of the window belong to it: a call that ended exactly `windowMs` ago still counts. */
  #prune(now: number): void {
    while ((this.#counted[0] ?? now) < now) this.#counted.shift();
  }
}
