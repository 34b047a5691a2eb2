import type { Event, WaitReason } from "../model/event.ts";

/** At most `limit` calls in any window of `windowMs`. */
export interface RateBound {
  readonly limit: number;
  readonly windowMs: number;
}

/** A file whose bytes are on their way into storage. */
export interface UploadState {
  readonly source: string;
  readonly sent: number;
  readonly total: number;
}

/** What a wait that has not ended is for, and how much of it is left, milliseconds. */
export interface WaitState {
  readonly reason: WaitReason | "rate_bound";
  readonly leftMs: number;
}

/** How many calls were made lately: `calls` within the last `windowMs`. */
export interface Pace {
  readonly calls: number;
  readonly windowMs: number;
}

/** Speed is measured over so long, milliseconds. */
const paceMs = 5_000;

/** Of several waits the first of these is told. */
const byWeight: readonly WaitReason[] = [
  "ledger",
  "retry_after",
  "shared_bound",
  "settle",
  "backoff",
  "upload",
];

/**
 * What the events of a run come to at a moment. All times are of one clock that never goes back, milliseconds: those in
 * the events are the wall clock's and are left alone.
 */
export class RunState {
  /** Changes that were begun and have ended, of {@link RunState.changes}. */
  ended = 0;
  failed = 0;
  inDoubt = 0;
  /** Whether a call of the run has changed something at the service. */
  hasWritten = false;
  changes = 0;
  /** Requests that were dispatched since looking, or the run, began. */
  calls = 0;
  /** About how many there will be; `undefined` while nothing is under way that was reckoned. */
  expected: number | undefined;
  phase: "idle" | "looking" | "running" = "idle";
  readonly #bounds = new Map<number, RateBound>();
  readonly #configured: RateBound | undefined;
  readonly #uploads = new Map<string, UploadState>();
  readonly #waits = new Map<WaitReason, number>();
  /** When calls ended, as far back as the longest of the windows. */
  #recent: number[] = [];
  #since = 0;
  /** Bytes stored, and when the first upload began. */
  #stored = 0;
  #storingSince: number | undefined;

  constructor(bound: RateBound | undefined) {
    this.#configured = bound;
  }

  /** Takes in an event that came at `now`. */
  take(event: Event, now: number): void {
    switch (event.type) {
      case "refresh_started":
        this.#begin("looking", event.calls, now);
        return;
      case "refresh_finished":
        this.#begin("idle", undefined, now);
        return;
      case "run_started": {
        const { noop: _unchanged, in_doubt: _blocked, ...counted } = event.summary;
        this.changes = Object.values(counted).reduce((sum, count) => sum + count, 0);
        this.hasWritten = false;
        this.failed = 0;
        this.inDoubt = 0;
        this.#begin("running", event.calls, now);
        return;
      }
      case "run_finished":
        this.#begin("idle", undefined, now);
        return;
      case "change_finished":
        if (event.outcome !== "skipped" && event.outcome !== "deferred") this.ended += 1;
        if (event.outcome === "unknown") this.inDoubt += 1;
        else if (event.failure !== undefined) this.failed += 1;
        return;
      case "call_finished":
        this.calls += 1;
        if (event.outcome === "done" && isWriting(event)) this.hasWritten = true;
        this.#recent.push(now);
        this.#waits.delete("shared_bound");
        this.#waits.delete("upload");
        return;
      case "waiting":
        this.#waits.set(event.reason, now + event.ms);
        return;
      case "bound_announced":
        this.#bounds.set(event.window_ms, { limit: event.limit, windowMs: event.window_ms });
        return;
      case "upload_progress": {
        const { source, sent, total } = event;
        this.#storingSince ??= now;
        this.#stored += Math.max(0, sent - (this.#uploads.get(source)?.sent ?? 0));
        this.#uploads.set(source, { source, sent, total });
        return;
      }
      case "upload_finished":
        this.#uploads.delete(event.source);
        return;
      case "planned":
      case "change_started":
      case "storage_call_finished":
        return;
    }
  }

  /** The bound in use: the slowest of the configured one and those that the service has announced. */
  get bound(): RateBound | undefined {
    const bounds = [...(this.#configured === undefined ? [] : [this.#configured]), ...this.#bounds.values()];
    return bounds.sort((a, b) => a.limit / a.windowMs - b.limit / b.windowMs)[0];
  }

  /** Files that are being stored, the largest first. */
  get uploads(): readonly UploadState[] {
    return [...this.#uploads.values()].sort((a, b) => b.total - a.total || (a.source < b.source ? -1 : 1));
  }

  /** Calls within the last window of the bound, or within some seconds where that is short. */
  pace(now: number): Pace {
    const windowMs = Math.max(paceMs, this.bound?.windowMs ?? 0);
    this.#recent = this.#recent.filter((at) => now - at < windowMs);
    return { calls: this.#recent.length, windowMs: Math.min(windowMs, Math.max(1_000, now - this.#since)) };
  }

  /** What is being waited for; `undefined` while nothing is. */
  wait(now: number): WaitState | undefined {
    for (const reason of byWeight) {
      const leftMs = (this.#waits.get(reason) ?? now) - now;
      if (leftMs > 0) return { reason, leftMs };
    }
    const { bound } = this;
    if (bound === undefined) return undefined;
    const within = this.#recent.filter((at) => now - at < bound.windowMs);
    const [oldest] = within;
    if (oldest === undefined || within.length < bound.limit) return undefined;
    return { reason: "rate_bound", leftMs: oldest + bound.windowMs - now };
  }

  /**
   * About how long it will take, milliseconds: as the bound allows for the calls that are left, no faster than they went so
   * far, after a pause that the service asked for; or as the bytes go that are being stored, when that is longer.
   * `undefined` when there is nothing to reckon by.
   */
  leftMs(now: number): number | undefined {
    if (this.expected === undefined || this.calls >= this.expected) return this.#storingLeftMs(now);
    const left = this.expected - this.calls;
    const { bound } = this;
    const boundMs = bound === undefined ? 0 : (left * bound.windowMs) / bound.limit;
    const { calls, windowMs } = this.pace(now);
    const asSoFarMs = calls === 0 ? 0 : (left * windowMs) / calls;
    const pauseMs = Math.max(0, (this.#waits.get("retry_after") ?? now) - now);
    if (boundMs + asSoFarMs === 0) return undefined;
    return Math.max(pauseMs + Math.max(boundMs, pauseMs > 0 ? 0 : asSoFarMs), this.#storingLeftMs(now) ?? 0);
  }

  #storingLeftMs(now: number): number | undefined {
    const elapsed = now - (this.#storingSince ?? now);
    const left = this.uploads.reduce((sum, { sent, total }) => sum + total - sent, 0);
    return this.#stored === 0 || elapsed <= 0 || left === 0 ? undefined : (left * elapsed) / this.#stored;
  }

  #begin(phase: RunState["phase"], expected: number | undefined, now: number): void {
    this.phase = phase;
    this.expected = expected;
    this.calls = 0;
    this.#since = now;
  }
}

/** Whether a call changes something. Credentials are requested by POST, and change nothing. */
export function isWriting({ method, path }: Extract<Event, { type: "call_finished" }>): boolean {
  return method !== "GET" && !path.endsWith("/api/uploads/credentials");
}
