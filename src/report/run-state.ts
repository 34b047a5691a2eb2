import type { Event, WaitReason } from "../model/event.ts";

/** At most `limit` calls in any window of `windowMs`. */
export interface RateBound {
  readonly limit: number;
  readonly windowMs: number;
}

/** A file that is being uploaded to storage. */
export interface UploadState {
  readonly source: string;
  readonly sent: number;
  readonly total: number;
}

/** The reason for the current wait, and the time left in milliseconds. */
export interface WaitState {
  readonly reason: WaitReason | "rate_bound";
  readonly leftMs: number;
}

/** The number of calls in the last `windowMs`. */
export interface Pace {
  readonly calls: number;
  readonly windowMs: number;
}

/** The speed is an average over this time, milliseconds. */
const paceMs = 5_000;

/** Of several waits, the first in this list is shown. */
const byWeight: readonly WaitReason[] = [
  "ledger",
  "retry_after",
  "shared_bound",
  "settle",
  "backoff",
  "upload",
];

/**
 * The state of a run, computed from its events. All times are monotonic milliseconds; the wall-clock times in the events are
 * not used.
 */
export class RunState {
  /** Started and ended changes, out of {@link RunState.changes}. */
  ended = 0;
  failed = 0;
  inDoubt = 0;
  /** Whether a call of the run changed something at the service. */
  hasWritten = false;
  changes = 0;
  /** Requests since the start of the refresh or the run. */
  calls = 0;
  /** The estimated number of requests; `undefined` without an estimate. */
  expected: number | undefined;
  phase: "idle" | "refreshing" | "running" = "idle";
  readonly #bounds = new Map<number, RateBound>();
  readonly #configured: RateBound | undefined;
  readonly #uploads = new Map<string, UploadState>();
  readonly #waits = new Map<WaitReason, number>();
  /** The end times of the calls in the longest window. */
  #recent: number[] = [];
  #since = 0;
  /** Stored bytes, and the start of the first upload. */
  #stored = 0;
  #storingSince: number | undefined;

  constructor(bound: RateBound | undefined) {
    this.#configured = bound;
  }

  /** Applies an event received at `now`. */
  take(event: Event, now: number): void {
    switch (event.type) {
      case "refresh_started":
        this.#begin("refreshing", event.calls, now);
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
        if (event.outcome !== "skipped" && event.outcome !== "deferred") {
          this.ended += 1;
          // The summary does not show which calls in doubt a run can settle.
          if (event.action === "in_doubt") this.changes += 1;
        }
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
    }
  }

  /** The effective rate limit: the slowest of the configured one and those that the service announced. */
  get bound(): RateBound | undefined {
    const bounds = [...(this.#configured === undefined ? [] : [this.#configured]), ...this.#bounds.values()];
    return bounds.sort((a, b) => a.limit / a.windowMs - b.limit / b.windowMs)[0];
  }

  /** Files that are being uploaded, the largest first. */
  get uploads(): readonly UploadState[] {
    return [...this.#uploads.values()].sort((a, b) => b.total - a.total || (a.source < b.source ? -1 : 1));
  }

  /** Calls in the last window of the rate limit, at least the last few seconds. */
  pace(now: number): Pace {
    const windowMs = Math.max(paceMs, this.bound?.windowMs ?? 0);
    this.#recent = this.#recent.filter((at) => now - at < windowMs);
    return { calls: this.#recent.length, windowMs: Math.min(windowMs, Math.max(1_000, now - this.#since)) };
  }

  /** The current wait, if any. */
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
   * The estimated time left, milliseconds: the remaining calls at the rate limit or at the speed so far, whichever is slower,
   * after a pause that the service requested; or the remaining uploads, if they take longer. `undefined` without an estimate.
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
