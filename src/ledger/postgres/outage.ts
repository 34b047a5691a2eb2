import type { Clock } from "../../model/ports.ts";
import { CommitInDoubt } from "./postgres-dialect.ts";
import { isBusy, isLost } from "./postgres-failure.ts";

/** How long a server that does not answer is waited for, milliseconds: one wait for all changes together. */
export const busyTimeoutMs = 10_000;

/** The same for a commit without an answer: longer than the server keeps the lock of a silent client. */
export const inDoubtTimeoutMs = 20_000;

/** A change that is not stored after so long is waited for, milliseconds. */
const slowMs = 2_000;

/** A wait that turns out to be longer is reported again, milliseconds. */
const extendedByMs = 1_000;

/** While the server is lost, or when it was waited for long enough, a connection is given so long, milliseconds. */
const minConnectMs = 1_000;

/**
 * The time that a server is lost, from the beginning of the first attempt that failed until one succeeds. All changes of a
 * ledger share one wait: a run that has many of them to store ends as soon as a run that has one.
 */
export class Outage {
  readonly #clock: Clock;
  readonly #onWaiting: (ms: number) => void;
  #since: number | undefined;
  /** Until when a report says that the server is waited for. */
  #reportedUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, onWaiting: (ms: number) => void = () => {}) {
    this.#clock = clock;
    this.#onWaiting = onWaiting;
  }

  /** When it began, by the monotonic clock; `undefined` while the server answers. */
  get since(): number | undefined {
    return this.#since;
  }

  /** How long to wait for a connection, milliseconds; `undefined`: as long as usual. */
  connectMs(): number | undefined {
    if (this.#since === undefined) return undefined;
    return Math.max(minConnectMs, this.#since + busyTimeoutMs - this.#clock.monotonic());
  }

  /** Makes one attempt, and notes whether it lost the server. A slow change is reported while it lasts. */
  async watch<T>(isChange: boolean, attempt: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic();
    const slow = isChange ? setTimeout(() => this.#report(busyTimeoutMs - slowMs), slowMs) : undefined;
    try {
      const result = await attempt();
      this.#end();
      return result;
    } catch (error) {
      if (error instanceof CommitInDoubt) this.#begin(startedAt, inDoubtTimeoutMs);
      else if (isLost(error)) this.#begin(startedAt, busyTimeoutMs);
      // A commit that hangs keeps its locks: the server is not back.
      else if (!isBusy(error)) this.#end();
      throw error;
    } finally {
      clearTimeout(slow);
    }
  }

  #begin(startedAt: number, forMs: number): void {
    this.#since ??= startedAt;
    const leftMs = this.#since + forMs - this.#clock.monotonic();
    if (leftMs > 0) this.#report(leftMs);
  }

  #end(): void {
    this.#since = undefined;
    this.#reportedUntil = Number.NEGATIVE_INFINITY;
  }

  #report(ms: number): void {
    const until = this.#clock.monotonic() + ms;
    if (until < this.#reportedUntil + extendedByMs) return;
    this.#reportedUntil = until;
    this.#onWaiting(ms);
  }
}

/** How often the clock is read while work is under way, milliseconds. */
const beatMs = 500;

/** A longer time without a beat is a standstill, milliseconds. */
const standstillMs = 2_000;

/**
 * A clock that stops while the process is suspended (SIGSTOP, a paused container, a suspended machine). Timeouts that
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
