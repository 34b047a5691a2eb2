/** A refusal without a word about how long doubles the pause, from one second up to this. */
const maxUnaskedPauseMs = 30_000;
const minUnaskedPauseMs = 1_000;

/**
 * The refusals for the rate (429, 425, 503 with `Retry-After`) since the service last answered anything else. The caller
 * passes the time (monotonic milliseconds).
 */
export class Refusals {
  readonly #maxWaitMs: number;
  #count = 0;
  #since = 0;
  #last = 0;

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** A call that was sent at `sentAt` was refused. Calls in flight together are refused together: they count once. */
  add(sentAt: number, now: number): void {
    if (this.#count > 0 && sentAt < this.#last) return;
    if (this.#count === 0) this.#since = now;
    this.#count += 1;
    this.#last = now;
  }

  clear(): void {
    this.#count = 0;
  }

  /** How long to wait after a refusal that does not say it. */
  get unaskedPauseMs(): number {
    return Math.min(maxUnaskedPauseMs, this.#maxWaitMs, minUnaskedPauseMs * 2 ** (this.#count - 1));
  }

  /** Whether the service would have refused every call for longer than a run waits, after another such pause. */
  exceed(pauseMs: number, now: number): boolean {
    return this.#count > 1 && now - this.#since + pauseMs > this.#maxWaitMs;
  }
}
