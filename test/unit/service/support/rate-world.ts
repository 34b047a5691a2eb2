import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import { onTestFinished, vi } from "vitest";
import { migrations } from "../../../../src/ledger/initial-schema.ts";
import type { LedgerDatabase } from "../../../../src/ledger/ledger-database.ts";
import { migrate } from "../../../../src/ledger/migrate.ts";
import { RateReservations } from "../../../../src/ledger/rate-reservations.ts";
import { openSqlite } from "../../../../src/ledger/sqlite/sqlite-database.ts";
import { systemClock } from "../../../../src/model/ports.ts";
import type { ProcessIdentity } from "../../../../src/model/process.ts";
import type { RateBound, RateStore } from "../../../../src/model/rate.ts";
import { RateLimiter } from "../../../../src/service/rate-limiter.ts";
import { SlowStart } from "../../../../src/service/slow-start.ts";
import { largestWindow } from "./largest-window.ts";

/** Properties of the processes of a {@link RateWorld}. Times in milliseconds. */
export interface RateWorldOptions {
  readonly bound: RateBound;
  readonly settleMs?: number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** Whether processes can judge each other. */
  readonly canJudge?: boolean;
}

/** The time between two rounds of transactions, milliseconds. */
const stepMs = 2;

const timeoutMs = 1_000;

/**
 * Processes that share a real table and a server, on virtual timers: each call spends a random time on its way to the
 * server and on the way back, up to `tripMs` each.
 */
export class RateWorld {
  readonly arrivals: number[] = [];
  readonly bound: RateBound;
  readonly options: RateWorldOptions;
  readonly database: LedgerDatabase;
  readonly dead = new Set<number>();
  /** Makes every transaction fail. */
  failure: Error | undefined;
  #pids = 0;

  private constructor(options: RateWorldOptions, database: LedgerDatabase) {
    this.options = options;
    this.bound = options.bound;
    this.database = database;
  }

  static async open(options: RateWorldOptions): Promise<RateWorld> {
    const folder = mkdtempSync(join(tmpdir(), "draftsync-rate-"));
    const database = await openSqlite({ location: join(folder, "state.db"), clock: systemClock });
    onTestFinished(async () => {
      await database.close();
      rmSync(folder, { recursive: true });
    });
    await migrate(database, { migrations, clock: systemClock });
    const now = () => Math.floor(performance.now());
    vi.spyOn(database, "monotonicClock").mockImplementation(now);
    Object.defineProperty(database, "wallClock", { get: () => sql<number>`cast(${now()} as integer)` });
    return new RateWorld(options, database);
  }

  start(tripMs: number): RateProcess {
    this.#pids += 1;
    return new RateProcess(this, { tripMs, pid: this.#pids });
  }

  /** Advances the time, and runs everything that is due. */
  async pass(ms: number): Promise<void> {
    for (const end = performance.now() + ms; performance.now() < end; ) {
      vi.advanceTimersByTime(stepMs);
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    }
  }

  /** The largest number of arrivals in any closed window of the bound. */
  largestWindow(): number {
    return largestWindow(this.arrivals, this.bound.windowMs);
  }
}

/** One process of a {@link RateWorld}. */
export class RateProcess {
  readonly limiter: RateLimiter;
  /** The reasons of its delays. */
  readonly delays: { readonly reason: string; readonly ms: number }[] = [];
  readonly failures: unknown[] = [];
  sent = 0;
  /** Calls that were reserved again. */
  late = 0;
  /** The advance of its clocks between the next reservation and the first byte. */
  stall: { readonly monotonic: number; readonly wall: number } | undefined;
  readonly #world: RateWorld;
  readonly #tripMs: number;
  readonly #pid: number;
  readonly #stop = new AbortController();
  readonly #ahead = { monotonic: 0, wall: 0 };

  constructor(world: RateWorld, { tripMs, pid }: { readonly tripMs: number; readonly pid: number }) {
    this.#world = world;
    this.#tripMs = tripMs;
    this.#pid = pid;
    const { bound, settleMs = 1_000 } = world.options;
    this.limiter = new RateLimiter({
      bound,
      slowStart: new SlowStart(bound.limit),
      clock: {
        now: () => performance.now() + this.#ahead.wall,
        monotonic: () => performance.now() + this.#ahead.monotonic,
      },
      maxWaitMs: 60_000,
      reservations: { store: this.#store(), settleMs, timeoutMs },
      onDelayed: (reason, ms) => void this.delays.push({ reason, ms }),
    });
  }

  /** Sends calls with a number of workers. */
  send(calls: number, workers = 20): void {
    let left = calls;
    const work = async () => {
      while (left > 0) {
        left -= 1;
        await this.#call();
      }
    };
    for (let worker = 0; worker < Math.min(calls, workers); worker += 1) void work();
  }

  /** Stops the process; its calls in flight still arrive. */
  kill(): void {
    this.#world.dead.add(this.#pid);
    this.#stop.abort();
    this.limiter.close();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.limiter.close();
    await this.#world.pass(2 * this.#tripMs + stepMs);
    await this.limiter.leave();
  }

  #store(): RateStore {
    const { database, dead, options } = this.#world;
    const self = { boot: "here", namespace: "", pid: this.#pid, startedAt: "1" };
    const isAlive = ({ pid }: ProcessIdentity) =>
      options.canJudge === false && pid !== this.#pid ? undefined : !dead.has(pid);
    const table = new RateReservations(database, { self, isAlive });
    return {
      reserve: async (request) => {
        if (dead.has(this.#pid)) return new Promise(() => {});
        if (this.#world.failure !== undefined) throw this.#world.failure;
        return table.reserve(request, "");
      },
    };
  }

  async #call(): Promise<void> {
    const grant = await this.limiter.acquire(this.#stop.signal);
    if (grant.type === "failed") this.failures.push(grant.error);
    if (grant.type !== "slot") return;
    this.#ahead.monotonic += this.stall?.monotonic ?? 0;
    this.#ahead.wall += this.stall?.wall ?? 0;
    this.stall = undefined;
    if (!grant.slot.isFresh()) {
      this.late += 1;
      grant.slot.cancel();
      return this.#call();
    }
    this.sent += 1;
    const { arrivals, options } = this.#world;
    setTimeout(() => arrivals.push(performance.now()), options.random() * this.#tripMs);
    await new Promise((resolve) => setTimeout(resolve, this.#tripMs * (1 + options.random())));
    grant.slot.release({ succeeded: true });
  }
}
