/** What slow start needs of the service's word: how long to wait, and whether it refused a call. */
export interface Pause {
  readonly ms: number;
  /** The service refused a call: after the pause calls start again slowly. */
  readonly refused: boolean;
}

/**
 * Delays all calls while the service asks for it, then lets them start slowly: one slot first, doubled each
 * time as many calls have succeeded, back to the limit. It can only slow down.
 *
 * ```
 *   open (limit) ──refusal──> paused ──time──> 1 slot ──1 success──> 2 ──2 successes──> 4 … limit
 * ```
 *
 * A pure state machine: the caller passes the time (monotonic milliseconds).
 */
export class SlowStart {
  readonly #limit: number;
  #openAt = Number.NEGATIVE_INFINITY;
  #capacity: number;
  #successes = 0;
  #epoch = {};

  constructor(limit: number) {
    this.#limit = limit;
    this.#capacity = limit;
  }

  /** How many slots of the rate window may be used. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Changes with every refusal: a call that was sent before one says nothing about what may be sent after it. */
  get epoch(): object {
    return this.#epoch;
  }

  /** How long from `now` no call may be sent; 0 when slow start is open. */
  waitMs(now: number): number {
    return Math.max(0, this.#openAt - now);
  }

  /** Applies a pause; true when it delays calls for longer than before. */
  pause(now: number, pause: Pause): boolean {
    if (pause.refused) {
      this.#capacity = 1;
      this.#successes = 0;
      this.#epoch = {};
    }
    const openAt = now + pause.ms;
    if (pause.ms <= 0 || openAt <= this.#openAt) return false;
    this.#openAt = openAt;
    return true;
  }

  /** A call that was sent in `epoch` was answered without a refusal. */
  succeeded(epoch: object): void {
    if (epoch !== this.#epoch) return;
    this.#successes += 1;
    if (this.#successes < this.#capacity) return;
    this.#successes = 0;
    this.#capacity = Math.min(this.#limit, this.#capacity * 2);
  }
}
