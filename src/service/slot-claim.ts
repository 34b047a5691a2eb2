import { randomUUID } from "node:crypto";
import type { Clock } from "../model/ports.ts";
import type { ProcessIdentity } from "../model/process.ts";
import type { SlotPause, SlotStore } from "../model/slots.ts";
import type { RateBound } from "./rate-window.ts";
import { divideSlots, joinPauses, leaveSlots, type SlotGrant } from "./slot-division.ts";

/** How the slots of a process are shared with others. Times in milliseconds. */
export interface SlotSharing {
  readonly store: SlotStore;
  readonly process: ProcessIdentity;
  /** Whether another process still runs; `undefined` when it cannot be seen from here. */
  readonly isAlive: (process: ProcessIdentity) => boolean | undefined;
  /** How long a call whose end nobody saw may still be on its way to the server. */
  readonly holdMs: number;
  /** How long one call may take. */
  readonly timeoutMs: number;
}

/** What the calls of this process use at this moment. */
export interface SlotUse {
  readonly inFlight: number;
  /** In flight, or ended and counted. */
  readonly used: number;
  /** Counted for longer than the window: nobody saw how they ended. */
  readonly held: number;
  /** Calls that wait to be sent. */
  readonly waiting: number;
}

/** Whose calls they are. */
export interface SlotHolder {
  use(): SlotUse;
  /** There may be room for more calls. */
  changed(): void;
  /** Another process was asked to wait. */
  paused(ms: number): void;
  /** There have been no slots to be had for a while; those of ended processes are free in so long. */
  starved(ms: number): void;
  /** The store failed. */
  failed(error: unknown): void;
}

/**
 * How often it is told that this process lives, how often more slots are asked for where there were none to be had, and
 * for how long a grant may be used: well within the time after which others take it (`leaseMs`).
 */
const beatMs = 1_000;
const pollMs = 200;
const validMs = 6_000;

const none: SlotGrant = { slots: 0, inFlight: 0 };

/**
 * The slots that this process has of a bound that several share, kept up with the store as needs change:
 *
 * ```
 *   none ── a call waits ──► turn at the table ──► granted ── beat: renewed, grown, shrunk ──► … ── idle ──► none
 *                                 ▲                   │
 *                                 └── too few: again ─┘
 * ```
 *
 * A grant lowers at the moment it is decided and rises when it is durable, so that what the store holds is never less
 * than what is used. One that was not renewed in time is not used, by either of two clocks: a monotonic one that may
 * stand still while the machine sleeps, and the wall clock.
 */
export class SlotClaim {
  readonly #sharing: SlotSharing;
  readonly #bound: RateBound;
  readonly #clock: Clock;
  readonly #holder: SlotHolder;
  #owner = randomUUID();
  #grant = none;
  #renewed = { monotonic: Number.NEGATIVE_INFINITY, now: 0 };
  /** The most calls that were in flight since the last turn. */
  #peak = 0;
  #denied: boolean | undefined;
  /** Since when there has been no slot, and whether that was told. */
  #starved: { readonly since: number; told: boolean } | undefined;
  /** Until when this process was asked to wait, by its monotonic clock. */
  #askedUntil = Number.NEGATIVE_INFINITY;
  #turn: Promise<void> | undefined;
  #turnEndedAt = Number.NEGATIVE_INFINITY;
  #next: NodeJS.Timeout | undefined;
  #beat: NodeJS.Timeout | undefined;
  #left = false;

  constructor(
    sharing: SlotSharing,
    own: { readonly bound: RateBound; readonly clock: Clock; readonly holder: SlotHolder },
  ) {
    this.#sharing = sharing;
    this.#bound = own.bound;
    this.#clock = own.clock;
    this.#holder = own.holder;
  }

  /** How many slots may be in use now. */
  get slots(): number {
    return this.isValid() ? this.#grant.slots : 0;
  }

  /** Whether one more call may be in flight. */
  mayStart(inFlight: number): boolean {
    return this.isValid() && inFlight < this.#grant.inFlight;
  }

  /** Whether what was granted may still be used. */
  isValid(): boolean {
    const { monotonic, now } = this.#renewed;
    return this.#clock.monotonic() - monotonic < validMs && this.#clock.now() - now < validMs;
  }

  /** A call was started. */
  started(inFlight: number): void {
    this.#peak = Math.max(this.#peak, inFlight);
  }

  /** A call waits for which there is no room. */
  ask(): void {
    if (this.#next !== undefined) return;
    // Slots that were not to be had are asked for again after a while; anything else has not been asked for yet.
    const poll = this.#denied && this.isValid() && this.#holder.use().used >= this.#grant.slots;
    const waitMs = poll ? this.#turnEndedAt + pollMs - this.#clock.monotonic() : 0;
    if (waitMs <= 0) this.#takeTurn();
    else this.#next = setTimeout(() => this.#takeTurn(), waitMs);
  }

  /** The service asks for a wait: whoever shares the store is told. */
  pause(ms: number): void {
    const until = this.#clock.monotonic() + ms;
    if (until <= this.#askedUntil) return;
    this.#askedUntil = until;
    this.#takeTurn();
  }

  /** Gives the slots back; what was sent counts on. Never rejects: a share that stays is taken for dead later. */
  async leave(): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    clearTimeout(this.#next);
    clearInterval(this.#beat);
    await this.#turn;
    if (this.#renewed.monotonic === Number.NEGATIVE_INFINITY) return;
    const { used, inFlight, held } = this.#holder.use();
    const leaving = { owner: this.#owner, used, held: inFlight + held };
    const { store, isAlive } = this.#sharing;
    await store.updateSlots((table, now) => leaveSlots(table, leaving, { now, isAlive })).catch(() => {});
  }

  #takeTurn(): void {
    clearTimeout(this.#next);
    this.#next = undefined;
    if (this.#left || this.#turn !== undefined) return;
    const askedUntil = this.#askedUntil;
    this.#turn = this.#exchange(askedUntil)
      .then(
        () => this.#askedUntil > askedUntil,
        (error: unknown) => this.#holder.failed(error),
      )
      .then((askedMeanwhile) => {
        this.#turn = undefined;
        this.#turnEndedAt = this.#clock.monotonic();
        if (askedMeanwhile === true) this.#takeTurn();
        this.#holder.changed();
      });
  }

  async #exchange(askedUntil: number): Promise<void> {
    const { store, isAlive } = this.#sharing;
    const startedAt = { monotonic: this.#clock.monotonic(), now: this.#clock.now() };
    const peak = this.#peak;
    this.#peak = 0;
    let decided = { grant: none, wanted: 0, pausedMs: 0 };
    await store.updateSlots((before, now) => {
      const need = this.#need(peak);
      // Under a name of its own, once others may have given the former share away.
      if (!before.shares.some(({ owner, endedAt }) => owner === this.#owner && endedAt === undefined)) {
        this.#owner = randomUUID();
        this.#grant = none;
      }
      const { table, grant } = divideSlots(before, { ...need, owner: this.#owner }, { now, isAlive });
      const pause = joinPauses(before.pause, askedUntil - this.#clock.monotonic(), now);
      decided = { grant, wanted: need.wanted, pausedMs: leftOf(pause, now) };
      this.#grant = {
        slots: Math.min(grant.slots, this.#grant.slots),
        inFlight: Math.min(grant.inFlight, this.#grant.inFlight),
      };
      return pause === undefined ? { shares: table.shares } : { shares: table.shares, pause };
    });
    const { grant, wanted, pausedMs } = decided;
    this.#grant = grant;
    this.#renewed = startedAt;
    this.#denied = grant.slots < Math.min(wanted, this.#bound.limit);
    if (pausedMs > 0) this.#holder.paused(pausedMs);
    this.#tellStarved(grant);
    this.#keepUp(wanted);
  }

  #need(peak: number) {
    const { used, inFlight, waiting } = this.#holder.use();
    const { process, holdMs, timeoutMs } = this.#sharing;
    const startable = Math.min(waiting, Math.max(0, this.#bound.limit - used));
    return {
      process,
      bound: this.#bound,
      holdMs,
      timeoutMs,
      used,
      inFlight,
      wanted: used + waiting,
      wantedInFlight: Math.max(peak, inFlight + startable),
    };
  }

  #tellStarved({ slots, freeInMs = beatMs }: SlotGrant): void {
    const now = this.#clock.monotonic();
    if (!this.#denied || slots > 0) this.#starved = undefined;
    else this.#starved ??= { since: now, told: false };
    if (this.#starved === undefined || this.#starved.told || now - this.#starved.since < beatMs) return;
    this.#starved.told = true;
    this.#holder.starved(freeInMs);
  }

  /** Beats for as long as there is a share in the store. */
  #keepUp(wanted: number): void {
    if (wanted === 0 || this.#left) {
      clearInterval(this.#beat);
      this.#beat = undefined;
    } else if (this.#beat === undefined) {
      this.#beat = setInterval(() => this.#takeTurn(), beatMs);
      // A process with nothing else to do is not kept alive by its slots.
      this.#beat.unref();
    }
  }
}

function leftOf(pause: SlotPause | undefined, now: number): number {
  return pause === undefined ? 0 : pause.setAt + pause.ms - now;
}
