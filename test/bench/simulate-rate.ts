// The executor's rate limiter under a clock that only goes forward when nothing is left to do: hours in seconds.

import { RateLimiter } from "../../src/service/rate-limiter.ts";
import { SlowStart } from "../../src/service/slow-start.ts";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  cancelled: boolean;
}

/** Times that have not come, the earliest first (a binary heap). */
class Timers {
  readonly #heap: Timer[] = [];

  push(timer: Timer): void {
    this.#heap.push(timer);
    for (let at = this.#heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfEarlier(at, parent)) return;
      at = parent;
    }
  }

  pop(): Timer | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    this.#heap[0] = last;
    for (let at = 0; ; ) {
      const child = this.#earlierOf(2 * at + 1, 2 * at + 2);
      if (child === undefined || !this.#swapIfEarlier(child, at)) return first;
      at = child;
    }
  }

  #earlierOf(left: number, right: number): number | undefined {
    const [a, b] = [this.#heap[left], this.#heap[right]];
    if (a === undefined) return undefined;
    return b !== undefined && isEarlier(b, a) ? right : left;
  }

  #swapIfEarlier(at: number, than: number): boolean {
    const [a, b] = [this.#heap[at], this.#heap[than]];
    if (a === undefined || b === undefined || !isEarlier(a, b)) return false;
    this.#heap[at] = b;
    this.#heap[than] = a;
    return true;
  }
}

function isEarlier(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** What a simulation came to. Times in milliseconds. */
export interface Simulation {
  readonly totalMs: number;
  /** `calls / limit` windows, each with the mean round trip: a slot is free again a window after its answer. */
  readonly leastMs: number;
  /** When calls came to the server. */
  readonly arrivals: readonly number[];
}

/** Sends `calls` through a limiter; `latency` gives the way there and the way back of each. */
export async function simulateRate({
  calls,
  limit,
  windowMs,
  latency,
}: {
  readonly calls: number;
  readonly limit: number;
  readonly windowMs: number;
  readonly latency: () => readonly [there: number, back: number];
}): Promise<Simulation> {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  const timers = new Timers();
  let now = 0;
  let order = 0;
  const after = (ms: number, run: () => void): Timer => {
    order += 1;
    const timer = { at: now + ms, order, run, cancelled: false };
    timers.push(timer);
    return timer;
  };
  Object.assign(globalThis, {
    setTimeout: (run: () => void, ms = 0) => after(ms, run),
    clearTimeout: (timer?: Timer) => {
      if (timer !== undefined) timer.cancelled = true;
    },
  });
  try {
    const clock = { now: () => now, monotonic: () => now };
    const limiter = new RateLimiter({
      bound: { limit, windowMs },
      slowStart: new SlowStart(limit),
      clock,
      maxWaitMs: 60_000,
    });
    const signal = new AbortController().signal;
    const arrivals: number[] = [];
    let trips = 0;
    let left = calls;
    let ended = 0;
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const grant = await limiter.acquire(signal);
        if (grant.type !== "slot") throw new Error(`no slot: ${grant.type}`);
        const [there, back] = latency();
        trips += there + back;
        await new Promise<void>((answered) => {
          after(there, () => arrivals.push(now));
          after(there + back, answered);
        });
        grant.slot.release({ succeeded: true });
        ended = now;
      }
    };
    const all = Promise.all(Array.from({ length: 2 * limit }, worker));
    for (;;) {
      // Promises first: everything that follows from this moment happens in it.
      await new Promise((done) => setImmediate(done));
      const timer = timers.pop();
      if (timer === undefined) break;
      now = timer.at;
      if (!timer.cancelled) timer.run();
    }
    await all;
    const leastMs = Math.max(0, calls / limit - 1) * (windowMs + trips / calls) + trips / calls;
    return { totalMs: ended, leastMs, arrivals };
  } finally {
    Object.assign(globalThis, real);
  }
}
