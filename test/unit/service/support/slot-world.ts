import type { ProcessIdentity } from "../../../../src/model/process.ts";
import type { SlotStore, SlotTable } from "../../../../src/model/slots.ts";
import { RateLimiter } from "../../../../src/service/rate-limiter.ts";
import type { RateBound } from "../../../../src/service/rate-window.ts";
import { SlowStart } from "../../../../src/service/slow-start.ts";

/** A store in memory whose transactions take a while, one after the other. */
export class MemorySlots implements SlotStore {
  table: SlotTable = { shares: [] };
  turns = 0;
  /** Milliseconds that the shared clock is ahead of the timers' clock. */
  clockOffset = 0;
  failure: Error | undefined;
  readonly #latencyMs: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(latencyMs: number) {
    this.#latencyMs = latencyMs;
  }

  updateSlots(decide: (table: SlotTable, now: number) => SlotTable): Promise<SlotTable> {
    const turn = this.#last.then(() => this.#transact(decide));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #transact(decide: (table: SlotTable, now: number) => SlotTable): Promise<SlotTable> {
    await pass(this.#latencyMs / 2);
    if (this.failure !== undefined) throw this.failure;
    this.turns += 1;
    const now = Math.floor(performance.now() + this.clockOffset);
    // Decided twice, as after a conflict: only the second answer is kept.
    decide(this.table, now);
    const table = decide(this.table, now);
    await pass(this.#latencyMs / 2);
    this.table = table;
    return table;
  }
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What the processes of a {@link SlotWorld} are like. Times in milliseconds. */
export interface SlotWorldOptions {
  readonly bound: RateBound;
  readonly latencyMs?: number;
  readonly holdMs?: number;
  /** Numbers in [0, 1). */
  readonly random?: () => number;
  /** Whether others can tell that a process was killed. */
  readonly seen?: boolean;
}

/**
 * Processes that share a store and a server, on virtual timers: each call spends a random time on its way to the server
 * and on the way back, up to `tripMs` each.
 */
export class SlotWorld {
  readonly store: MemorySlots;
  readonly arrivals: number[] = [];
  readonly bound: RateBound;
  readonly #options: SlotWorldOptions;
  readonly #dead = new Set<number>();
  #pids = 0;

  constructor(options: SlotWorldOptions) {
    this.#options = options;
    this.bound = options.bound;
    this.store = new MemorySlots(options.latencyMs ?? 4);
  }

  start(tripMs = 20): SlotWorldProcess {
    this.#pids += 1;
    return new SlotWorldProcess(this, { ...this.#options, tripMs, pid: this.#pids });
  }

  isAlive = ({ pid }: ProcessIdentity): boolean | undefined => {
    if (!this.#dead.has(pid)) return true;
    return this.#options.seen === false ? undefined : false;
  };

  bury(pid: number): void {
    this.#dead.add(pid);
  }

  /** The most arrivals in any window of the bound, closed at both ends. */
  largestWindow(): number {
    const times = [...this.arrivals].sort((a, b) => a - b);
    let largest = 0;
    let from = 0;
    for (const [at, time] of times.entries()) {
      while (time - (times[from] ?? 0) > this.#options.bound.windowMs) from += 1;
      largest = Math.max(largest, at - from + 1);
    }
    return largest;
  }
}

/** One process of a {@link SlotWorld}. */
export class SlotWorldProcess {
  readonly limiter: RateLimiter;
  /** What it was told to wait for. */
  readonly excluded: { readonly reason: string; readonly ms: number }[] = [];
  sent = 0;
  /** The wall clock of this process is ahead by so much, milliseconds. */
  wallOffset = 0;
  readonly #world: SlotWorld;
  readonly #tripMs: number;
  readonly #pid: number;
  readonly #random: () => number;
  readonly #stop = new AbortController();
  #killed = false;

  constructor(
    world: SlotWorld,
    options: SlotWorldOptions & { readonly tripMs: number; readonly pid: number },
  ) {
    const { bound, tripMs, pid, random = Math.random, holdMs = 200 } = options;
    this.#world = world;
    this.#tripMs = tripMs;
    this.#pid = pid;
    this.#random = random;
    const store: SlotStore = {
      // A killed process takes no turn, and never hears of one that it took.
      updateSlots: (decide) => {
        if (this.#killed) return new Promise(() => {});
        return new Promise((resolve, reject) => {
          world.store
            .updateSlots((table, now) => (this.#killed ? table : decide(table, now)))
            .then(
              (table) => this.#killed || resolve(table),
              (error: unknown) => this.#killed || reject(error),
            );
        });
      },
    };
    this.limiter = new RateLimiter({
      bound,
      slowStart: new SlowStart(bound.limit),
      clock: {
        now: () => Date.now() + this.wallOffset,
        monotonic: () => performance.now(),
      },
      maxWaitMs: 60_000,
      sharing: {
        store,
        process: { boot: "test", namespace: "", pid },
        isAlive: world.isAlive,
        holdMs,
        timeoutMs: 100,
      },
      onDelayed: (reason, ms) => void this.excluded.push({ reason, ms }),
    });
  }

  /** Sends so many calls, up to `atOnce` at a time; resolves when all have ended, or it was killed. */
  async send(calls: number, atOnce = 8): Promise<void> {
    let left = calls;
    const worker = async () => {
      while (left > 0 && !this.#killed) {
        left -= 1;
        await this.#call();
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, calls) }, worker));
  }

  /** As SIGKILL: what was sent arrives, and nothing else happens. */
  kill(): void {
    this.#killed = true;
    this.#stop.abort();
    this.limiter.close();
    this.#world.bury(this.#pid);
  }

  async leave(): Promise<void> {
    this.limiter.close();
    await this.limiter.leave();
  }

  async #call(): Promise<void> {
    const grant = await this.limiter.acquire(this.#stop.signal);
    if (grant.type === "failed") throw grant.error;
    if (grant.type !== "slot" || this.#killed) return;
    if (!this.limiter.isOpen()) return grant.slot.cancel();
    this.sent += 1;
    setTimeout(() => this.#world.arrivals.push(performance.now()), this.#random() * this.#tripMs);
    await pass(this.#tripMs * (1 + this.#random()));
    grant.slot.release({ succeeded: true });
  }
}
