import type { Clock } from "../../model/ports.ts";

/** How often the clock is read while work is under way, milliseconds. */
const beatMs = 500;

/** A longer time without a beat is a standstill, milliseconds. */
const standstillMs = 2_000;

/**
 * A clock that stops while the process stands still (SIGSTOP, a paused container, a suspended machine). Timeouts that
 * expired meanwhile say nothing about the server, so that time does not count as waiting for it.
 */
export class AwakeClock implements Clock {
  readonly #clock: Clock;
  #standstill = 0;
  #lastBeat = 0;
  #works = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    this.#beat();
    return this.#clock.monotonic() - this.#standstill;
  }

  /** Notices standstills during the work. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#works === 0) {
      this.#lastBeat = performance.now();
      this.#timer = setInterval(() => this.#beat(), beatMs).unref();
    }
    this.#works += 1;
    try {
      return await work();
    } finally {
      this.#works -= 1;
      if (this.#works === 0) clearInterval(this.#timer);
    }
  }

  #beat(): void {
    if (this.#works === 0) return;
    const now = performance.now();
    const gap = now - this.#lastBeat;
    if (gap > standstillMs) this.#standstill += gap;
    this.#lastBeat = now;
  }
}
