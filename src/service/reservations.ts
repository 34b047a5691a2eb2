import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../model/ports.ts";
import type { RateBound, RateStore } from "../model/rate.ts";

/** A call's row in the table of reservations. */
export interface Reservation {
  readonly id: string;
  /** Before it was made. */
  readonly at: { readonly monotonic: number; readonly now: number };
}

/** How calls are reserved. Times in milliseconds. */
export interface ReservationsOptions {
  readonly store: RateStore;
  readonly bound: RateBound;
  /** How long one call may take, from dispatch to the last byte. */
  readonly timeoutMs: number;
  /** How long a call may still arrive after its connection closed. */
  readonly settleMs: number;
}

/** A call that ended, and until when it may arrive by the monotonic clock. */
interface EndedCall {
  readonly id: string;
  readonly until: number;
}

/** What a limiter has to do with its reservations. */
export interface Reserving {
  /** How many calls could start now, if they were reserved. */
  wanted(): number;
  /** Reservations may have come. */
  changed(): void;
  /** Another process was asked to wait. */
  paused(ms: number): void;
  /** Others have all of the bound; more is free in about so long. */
  delayed(ms: number): void;
  /** The store failed. */
  failed(error: unknown): void;
}

/**
 * The first byte of a call is written soon after its reservation, or the call is reserved again: within `settle_delay`, because
 * `resolve` waits that long for the last call of a process that lost its lock.
 */
const startWithin = { leastMs: 1_000, mostMs: 5_000 };

/** How long a call that ended waits for others to be stored with it: nothing waits for it but a window later. */
const storeWithinMs = 50;

/** How often the table is read when room comes only from calls that other processes end. */
const pollMs = 200;

/** After this long without a call, the reason for the wait is shown. */
const reportAfterMs = 1_000;

/**
 * Reserves calls in the table that processes share: one transaction at a time, which also ends the calls that ended
 * since the last one, so that calls in a hurry share a commit.
 */
export class Reservations {
  readonly #options: ReservationsOptions;
  readonly #clock: Clock;
  readonly #holder: Reserving;
  readonly #startWithinMs: number;
  /** Unused ones of the last transaction. */
  readonly #ready: Reservation[] = [];
  #ended: EndedCall[] = [];
  #unsent: string[] = [];
  #pauseUntil = Number.NEGATIVE_INFINITY;
  #transaction: Promise<void> | undefined;
  #timer: { readonly at: number; readonly timeout: NodeJS.Timeout } | undefined;
  /** Nothing is free before. */
  #nextAt = Number.NEGATIVE_INFINITY;
  #delayed: { readonly since: number; reported: boolean } | undefined;
  #hasFailed = false;
  #closed = false;

  constructor(options: ReservationsOptions, { clock, holder }: { clock: Clock; holder: Reserving }) {
    this.#options = options;
    this.#clock = clock;
    this.#holder = holder;
    const { leastMs, mostMs } = startWithin;
    this.#startWithinMs = Math.min(mostMs, Math.max(leastMs, options.settleMs));
  }

  /** A reservation to be used at once; asks for more when there is none. */
  take(): Reservation | undefined {
    const ready = this.#ready.shift();
    if (ready === undefined) this.#ask();
    return ready;
  }

  /** Whether the first byte may still be written. The monotonic clock may stop while the machine sleeps. */
  isFresh({ at }: Reservation): boolean {
    const { monotonic, now } = this.#clock;
    return monotonic() - at.monotonic < this.#startWithinMs && now() - at.now < this.#startWithinMs;
  }

  /** A call that was sent has ended, and may still arrive for `holdMs`. */
  end({ id }: Reservation, holdMs: number): void {
    this.#ended.push({ id, until: this.#clock.monotonic() + holdMs });
    this.#runWithin(Math.min(storeWithinMs, this.#options.bound.windowMs / 10));
  }

  /** No call was sent. */
  cancel({ id }: Reservation): void {
    this.#unsent.push(id);
    this.#run();
  }

  /** The service asks for a wait: the other processes wait, too. */
  pause(ms: number): void {
    this.#pauseUntil = Math.max(this.#pauseUntil, this.#clock.monotonic() + ms);
    this.#run();
  }

  /** Stores what ended. Never rejects: rows that stay count as those of a dead process. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer?.timeout);
    await this.#transaction;
    if (!this.#hasFailed && this.#hasNews()) await this.#transact().catch(() => {});
  }

  #hasNews(): boolean {
    return this.#ended.length + this.#unsent.length > 0 || this.#pauseUntil > this.#clock.monotonic();
  }

  #ask(): void {
    const waitMs = this.#nextAt - this.#clock.monotonic();
    if (waitMs <= 0) this.#run();
    else this.#runWithin(waitMs);
  }

  #runWithin(ms: number): void {
    const at = this.#clock.monotonic() + ms;
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    clearTimeout(this.#timer?.timeout);
    this.#timer = { at, timeout: setTimeout(() => this.#run(), Math.ceil(ms)) };
  }

  #run(): void {
    clearTimeout(this.#timer?.timeout);
    this.#timer = undefined;
    if (this.#transaction !== undefined || this.#closed) return;
    // Everything that this turn of the event loop brings shares the transaction.
    this.#transaction = nextTurn()
      .then(() => this.#transact())
      .then(
        () => this.#after(),
        (error: unknown) => {
          this.#transaction = undefined;
          this.#holder.failed(error);
        },
      );
  }

  #after(): void {
    this.#transaction = undefined;
    this.#holder.changed();
    for (const unused of this.#ready.splice(0)) this.#unsent.push(unused.id);
    if (this.#hasNews() && this.#timer === undefined && this.#transaction === undefined) this.#run();
  }

  async #transact(): Promise<void> {
    const { store, bound, timeoutMs, settleMs } = this.#options;
    const at = { monotonic: this.#clock.monotonic(), now: this.#clock.now() };
    const [ended, unsent, pauseUntil] = [this.#ended, this.#unsent, this.#pauseUntil];
    this.#ended = [];
    this.#unsent = [];
    this.#pauseUntil = Number.NEGATIVE_INFINITY;
    const wanted = Array.from({ length: this.#closed ? 0 : this.#holder.wanted() }, () => randomUUID());
    try {
      const { reserved, freeInMs, pausedMs } = await store.reserve({
        bound,
        callMs: this.#startWithinMs + timeoutMs,
        settleMs,
        wanted,
        ended: this.#group(ended),
        unsent,
        pauseMs: Math.max(0, pauseUntil - at.monotonic),
      });
      this.#hasFailed = false;
      for (const id of wanted.slice(0, reserved)) this.#ready.push({ id, at });
      const isShort = reserved < wanted.length;
      const nextMs = freeInMs ?? Math.min(pollMs, bound.windowMs / 4);
      this.#nextAt = isShort ? this.#clock.monotonic() + nextMs : Number.NEGATIVE_INFINITY;
      if (pausedMs > 0) this.#holder.paused(pausedMs);
      else this.#report(isShort && reserved === 0, nextMs);
    } catch (error) {
      this.#hasFailed = true;
      this.#ended.push(...ended);
      // Whether they were reserved is not known.
      this.#unsent.push(...unsent, ...wanted);
      this.#pauseUntil = Math.max(this.#pauseUntil, pauseUntil);
      throw error;
    }
  }

  /** Calls that ended at nearly the same time, by the time of the last one. */
  #group(ended: readonly EndedCall[]) {
    const groups: { from: number; until: number; readonly ids: string[] }[] = [];
    for (const { id, until } of [...ended].sort((a, b) => a.until - b.until)) {
      const last = groups.at(-1);
      if (last === undefined || until - last.from > this.#options.bound.windowMs / 100)
        groups.push({ from: until, until, ids: [id] });
      else {
        last.until = until;
        last.ids.push(id);
      }
    }
    return groups.map(({ ids, until }) => ({ ids, agoMs: () => this.#clock.monotonic() - until }));
  }

  /** Reports, once, that nothing was or will be free for a while. */
  #report(isDelayed: boolean, nextMs: number): void {
    if (!isDelayed) {
      this.#delayed = undefined;
      return;
    }
    const now = this.#clock.monotonic();
    this.#delayed ??= { since: now, reported: false };
    if (this.#delayed.reported || now + nextMs - this.#delayed.since < reportAfterMs) return;
    this.#delayed.reported = true;
    this.#holder.delayed(nextMs);
  }
}
