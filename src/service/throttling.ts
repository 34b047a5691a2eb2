import type { HttpResponse } from "./exchange-handler.ts";
import type { ServiceOptions } from "./options.ts";
import { readRateHints } from "./rate-hints.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import type { Pause } from "./slow-start.ts";

/** A refusal without `Retry-After` doubles the pause, from one second up to this. */
const maxUnaskedPauseMs = 30_000;
const minUnaskedPauseMs = 1_000;

/**
 * Obeys the rate limit headers and the refusals for the rate (429, 425, 503 with `Retry-After`), and counts those since the
 * service last answered anything else.
 */
export class Throttling {
  readonly #slots: RateLimiter;
  readonly #options: ServiceOptions;
  #refusals = 0;
  #firstAt = 0;
  #lastAt = 0;
  #reportedPauseEnd = 0;

  constructor(slots: RateLimiter, options: ServiceOptions) {
    this.#slots = slots;
    this.#options = options;
  }

  /** Applies the hints of a response to a call that was sent at `sentAt`. Returns how long a refused call has to wait. */
  apply(response: HttpResponse, sentAt: number): number {
    const { clock, profile } = this.#options;
    const hints = readRateHints(response.header, clock.now());
    for (const policy of hints.policies) this.#slots.tighten(policy);
    const throttled = response.status === 429 || response.status === 425;
    if (throttled || (response.status === 503 && hints.retryAfterMs !== undefined)) {
      this.#count(sentAt, clock.monotonic());
      const unaskedMs = Math.min(maxUnaskedPauseMs, minUnaskedPauseMs * 2 ** (this.#refusals - 1));
      const ms = hints.retryAfterMs || hints.exhaustedMs || Math.min(unaskedMs, profile.max_wait);
      this.#pause({ ms, refused: true });
      return ms;
    }
    this.#refusals = 0;
    // A quota that is used up is a guess about the next response, not yet a refusal: it is never waited for too long.
    if (hints.exhaustedMs !== undefined)
      this.#pause({ ms: Math.min(hints.exhaustedMs, profile.max_wait), refused: false });
    return 0;
  }

  /** Whether the service would have refused every call for longer than a run waits, after another such pause. */
  isEndless(pauseMs: number): boolean {
    const { clock, profile } = this.#options;
    return this.#refusals > 1 && clock.monotonic() - this.#firstAt + pauseMs > profile.max_wait;
  }

  /** Calls in flight together are refused together: they count once. */
  #count(sentAt: number, now: number): void {
    if (this.#refusals > 0 && sentAt < this.#lastAt) return;
    if (this.#refusals === 0) this.#firstAt = now;
    this.#refusals += 1;
    this.#lastAt = now;
  }

  /** Each call in flight brings the same pause, a little later: it is reported once, and not at all when it stops the run. */
  #pause(pause: Pause): void {
    const { clock, emit, profile } = this.#options;
    if (!this.#slots.pause(pause) || pause.ms > profile.max_wait) return;
    const until = clock.monotonic() + pause.ms;
    if (until - this.#reportedPauseEnd < pause.ms / 10) return;
    this.#reportedPauseEnd = until;
    emit({ type: "waiting", at: clock.now(), reason: "retry_after", ms: Math.ceil(pause.ms) });
  }
}
