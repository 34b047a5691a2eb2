import type { Clock } from "../model/ports.ts";
import type { RateBound } from "../model/rate.ts";
import { longestTimerMs, onAbort } from "../model/wait.ts";
import { RateWindow } from "./rate-window.ts";
import { type Reservation, Reservations, type ReservationsOptions, type Reserving } from "./reservations.ts";
import type { Pause, SlowStart } from "./slow-start.ts";

/** The right to send one call. Exactly one of its methods is to be called, once. */
export interface Slot {
  /** The call was sent and has ended; `holdMs` keeps the slot for longer than the window. */
  release(options?: { readonly holdMs?: number; readonly succeeded?: boolean }): void;
  /** No call was sent. */
  cancel(): void;
  /** Whether its first byte may be written now: not long after it was reserved. */
  isFresh(): boolean;
}

/** The answer to asking for a slot. */
export type Grant =
  | { readonly type: "slot"; readonly slot: Slot }
  /** The signal was aborted, or the limiter was closed. */
  | { readonly type: "interrupted" }
  /** The service asked for a wait that is longer than the longest one allowed. */
  | { readonly type: "too_long"; readonly waitMs: number }
  /** The table of reservations failed. */
  | { readonly type: "failed"; readonly error: unknown };

type Settle = (grant: Grant) => void;

/** Arguments of {@link RateLimiter}. `maxWaitMs`: the longest pause that calls wait for. */
export interface RateLimiterOptions {
  readonly bound: RateBound;
  readonly slowStart: SlowStart;
  readonly clock: Clock;
  readonly maxWaitMs: number;
  /** Where calls are reserved; absent: the bound is this process's alone. */
  readonly reservations?: Omit<ReservationsOptions, "bound">;
  /** Calls wait for other processes: one of them was asked to wait, or they use the whole limit. */
  readonly onDelayed?: (reason: "retry_after" | "shared_bound", ms: number) => void;
  /** The service has announced a bound that it had not announced before. */
  readonly onAnnounced?: (bound: RateBound) => void;
}

/**
 * Timers complete to whole milliseconds, and a server may stamp arrivals with a clock that is corrected while it
 * runs; one more millisecond keeps both away from the edge of the window.
 */
const marginMs = 1;

/** Pauses that differ by no more are the same one: longer than it takes to store a pause. */
const pauseSlackMs = 100;

/** Bounds the service may announce: enough for a second, a minute, an hour and a day. */
const maxPolicies = 4;

/** A window of the service's own: its limit may change with every answer, so it is passed as a capacity. */
interface Policy {
  limit: number;
  readonly window: RateWindow;
}

/**
 * {@link RateWindow}, {@link SlowStart} and the {@link Reservations} of this process, with timers and a queue around
 * them. Quotas that the service announces are windows beside the configured one; a call needs a slot in each.
 */
export class RateLimiter {
  readonly #window: RateWindow;
  readonly #policies = new Map<number, Policy>();
  readonly #slowStart: SlowStart;
  readonly #clock: Clock;
  readonly #maxWaitMs: number;
  readonly #reservations: Reservations | undefined;
  readonly #onDelayed: NonNullable<RateLimiterOptions["onDelayed"]>;
  readonly #onAnnounced: NonNullable<RateLimiterOptions["onAnnounced"]>;
  /** In order of arrival; a set, so that one that gives up leaves at once. */
  #waiters = new Set<Settle>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: RateLimiterOptions) {
    this.#window = openWindow(options.bound.limit, options.bound.windowMs);
    this.#slowStart = options.slowStart;
    this.#clock = options.clock;
    this.#maxWaitMs = options.maxWaitMs;
    this.#onDelayed = options.onDelayed ?? (() => {});
    this.#onAnnounced = options.onAnnounced ?? (() => {});
    this.#reservations =
      options.reservations &&
      new Reservations(
        { ...options.reservations, bound: options.bound },
        { ...options, holder: this.#holder() },
      );
  }

  /** Waits for a slot, first come first served; `isFirst`: before those that wait already. */
  acquire(signal: AbortSignal, { isFirst = false }: { readonly isFirst?: boolean } = {}): Promise<Grant> {
    if (this.#closed || signal.aborted) return Promise.resolve({ type: "interrupted" });
    if (this.#waiters.size === 0 && this.#reservations === undefined) {
      if (this.#nextWait(this.#clock.monotonic()).type === "none")
        return Promise.resolve({ type: "slot", slot: this.#makeSlot() });
    }
    return new Promise((resolve) => {
      const settle: Settle = (grant) => {
        this.#waiters.delete(settle);
        stopListening();
        resolve(grant);
      };
      const stopListening = onAbort(signal, () => settle({ type: "interrupted" }));
      if (isFirst) this.#waiters = new Set([settle, ...this.#waiters]);
      else this.#waiters.add(settle);
      this.#pump();
    });
  }

  /** Whether a slot that was granted may be used at this moment: slow start may have closed since. */
  isOpen(): boolean {
    return this.#slowStart.waitMs(this.#clock.monotonic()) === 0;
  }

  /** Delays every call; true when that is longer than before. */
  pause(pause: Pause): boolean {
    const longer = this.#slowStart.pause(this.#clock.monotonic(), pause);
    if (longer) this.#reservations?.pause(pause.ms);
    this.#pump();
    return longer;
  }

  /** Keeps a bound that the service has announced, in addition to the configured one. */
  tighten(announced: RateBound): void {
    const known = this.#policies.get(announced.windowMs);
    if (known?.limit === announced.limit) return;
    this.#onAnnounced(announced);
    if (known !== undefined) {
      known.limit = announced.limit;
      return;
    }
    const window = openWindow(Number.MAX_SAFE_INTEGER, announced.windowMs);
    this.#policies.set(announced.windowMs, { limit: announced.limit, window });
    if (this.#policies.size <= maxPolicies) return;
    const byPace = [...this.#policies].sort(([aMs, a], [bMs, b]) => b.limit / bMs - a.limit / aMs);
    for (const [windowMs] of byPace.slice(0, 1)) this.#policies.delete(windowMs);
  }

  /** Ends all waiting. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#settleAll({ type: "interrupted" });
  }

  /** Stores in the table of reservations what ended. Call it when every call has ended; never rejects. */
  async leave(): Promise<void> {
    await this.#reservations?.close();
  }

  #settleAll(grant: Grant): void {
    for (const settle of [...this.#waiters]) settle(grant);
  }

  #holder(): Reserving {
    return {
      wanted: () => Math.max(0, Math.min(this.#waiters.size, this.#room(this.#clock.monotonic()))),
      changed: () => this.#pump(),
      paused: (ms) => {
        const now = this.#clock.monotonic();
        // This process's own pause comes back too, a little later than it was asked for.
        if (ms < this.#slowStart.waitMs(now) + pauseSlackMs) return;
        const isNew = this.#slowStart.pause(now, { ms, refused: false });
        if (isNew && ms <= this.#maxWaitMs) this.#onDelayed("retry_after", ms);
      },
      delayed: (ms) => this.#onDelayed("shared_bound", ms),
      failed: (error) => this.#settleAll({ type: "failed", error }),
    };
  }

  /** How many calls of this process may start, as far as it knows. */
  #room(now: number): number {
    if (this.#slowStart.waitMs(now) > 0) return 0;
    const policies = [...this.#policies.values()].map(({ limit, window }) => window.room(now, limit));
    return Math.min(this.#window.room(now, this.#slowStart.capacity), ...policies);
  }

  /** Serves the waiters in order for as long as the rule and slow start allow, then sets a timer for the next one. */
  #pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const settle of this.#waiters) {
      const wait = this.#nextWait(this.#clock.monotonic());
      if (wait.type === "too_long") settle(wait);
      if (wait.type === "later") return void this.#pumpIn(wait.ms);
      if (wait.type !== "none") continue;
      const reservation = this.#reservations?.take();
      if (this.#reservations !== undefined && reservation === undefined) return;
      settle({ type: "slot", slot: this.#makeSlot(reservation) });
    }
  }

  #pumpIn(ms: number | undefined): void {
    if (ms === undefined) return;
    this.#timer = setTimeout(() => this.#pump(), Math.min(longestTimerMs, Math.floor(ms) + 1));
  }

  /** What the next call has to wait for; for nothing when it may be sent now. */
  #nextWait(now: number): Wait {
    const pausedMs = this.#slowStart.waitMs(now);
    if (pausedMs > this.#maxWaitMs) return { type: "too_long", waitMs: pausedMs };
    if (pausedMs > 0) return { type: "later", ms: pausedMs };
    for (const { limit, window } of this.#policies.values()) {
      if (window.hasRoom(now, limit)) continue;
      const ms = untilRoom(window, now, limit);
      return ms !== undefined && ms > this.#maxWaitMs
        ? { type: "too_long", waitMs: ms }
        : { type: "later", ms };
    }
    const { capacity } = this.#slowStart;
    if (this.#window.hasRoom(now, capacity)) return { type: "none" };
    return { type: "later", ms: untilRoom(this.#window, now, capacity) };
  }

  #makeSlot(reservation?: Reservation): Slot {
    const now = this.#clock.monotonic();
    const windows = [this.#window];
    for (const { window } of this.#policies.values()) windows.push(window);
    for (const window of windows) window.take(now);
    const epoch = this.#slowStart.epoch;
    let open = true;
    const end = (give: (window: RateWindow) => void, store: (reservation: Reservation) => void) => {
      if (!open) return;
      open = false;
      for (const window of windows) give(window);
      if (reservation !== undefined) store(reservation);
      this.#pump();
    };
    return {
      release: ({ holdMs = 0, succeeded = false } = {}) => {
        if (open && succeeded) this.#slowStart.succeeded(epoch);
        end(
          (window) => window.release(this.#clock.monotonic(), holdMs),
          (reserved) => this.#reservations?.end(reserved, holdMs),
        );
      },
      cancel: () =>
        end(
          (window) => window.cancel(),
          (reserved) => this.#reservations?.cancel(reserved),
        ),
      isFresh: () => reservation === undefined || this.#reservations?.isFresh(reservation) !== false,
    };
  }
}

type Wait =
  | { readonly type: "none" }
  /** Without `ms`: something else has to happen first, such as the end of a call. */
  | { readonly type: "later"; readonly ms: number | undefined }
  | { readonly type: "too_long"; readonly waitMs: number };

/**
 * How long until a window has room by the passing of time alone; `undefined` when time does not give it, or it has room.
 * 0 at the very end of the window, which still belongs to it.
 */
function untilRoom(window: RateWindow, now: number, capacity: number): number | undefined {
  const nextAt = window.hasRoom(now, capacity) ? undefined : window.nextAt(now, capacity);
  return nextAt === undefined ? undefined : nextAt - now;
}

function openWindow(limit: number, windowMs: number): RateWindow {
  return new RateWindow({ limit, windowMs: windowMs + marginMs });
}
