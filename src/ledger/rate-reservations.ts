import { sql } from "kysely";
import { z } from "zod";
import { parseJson } from "../model/parse-json.ts";
import { type ProcessTable, processSchema } from "../model/process.ts";
import type { ReservationRequest, ReservationResult } from "../model/rate.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import type { LedgerQueries, LedgerTables } from "./tables.ts";

/** The process that reserved a call, and its settings. Times in milliseconds. */
const reserverSchema = z.object({
  process: processSchema,
  bound: z.object({ limit: z.int(), windowMs: z.int() }),
  callMs: z.int(),
  settleMs: z.int(),
});

type Reserver = z.output<typeof reserverSchema>;
/** By the wall clock: a pause outlives a boot. One that ends too early, since the clock was set, costs a refused call. */
type Pause = LedgerTables["rate_pauses"] & { readonly now: number };

/** The calls of one reserver. */
interface Group {
  readonly reserver: string;
  readonly calls: number;
  readonly lastEnd: number | null;
  /** Of calls in flight. */
  readonly firstLost: number | null;
  readonly lastLost: number | null;
}

/** Whose rows are meant, and the time. */
interface Context {
  readonly queries: LedgerQueries;
  readonly key: string;
  readonly now: number;
}

/** The clock has whole milliseconds, and a server may correct its own while it runs. */
const marginMs = 2;

/**
 * One row for each call that is in flight or ended within the last window. A call may start while there are fewer rows
 * than the limit.
 *
 * ```
 *   reserved ──► in flight ── ended ─────────────────────────► counts for a window ──► deleted
 *                    └── lost, its process dead, or `lost_at` past ──► settle delay ──┘
 * ```
 *
 * Times of calls are of a clock that all share: the monotonic one of the boot for SQLite, the server's for PostgreSQL. Rows of
 * another boot, and times in the future, count for settle delay and a window from now on. The rows are no part of what
 * the ledger records, and need no lock of the workspace.
 */
export class RateReservations {
  readonly #database: LedgerDatabase;
  readonly #processes: ProcessTable;

  constructor(database: LedgerDatabase, processes: ProcessTable) {
    this.#database = database;
    this.#processes = processes;
  }

  /** model/rate.ts, `RateStore.reserve`, for the calls of one `key`. */
  reserve(request: ReservationRequest, key: string): Promise<ReservationResult> {
    return this.#database.transaction("unsynced", (queries) => this.#reserve(queries, request, key));
  }

  /** How long no call of the ledger may be sent yet, because the service asked for it; milliseconds. */
  async pausedMs(queries: LedgerQueries): Promise<number> {
    return leftOf(await this.#readPause(queries, ""));
  }

  async #reserve(
    queries: LedgerQueries,
    request: ReservationRequest,
    key: string,
  ): Promise<ReservationResult> {
    // Taken before the clock is read: what passes in between makes a call count longer, not shorter.
    const ended = request.ended.map(({ ids, agoMs }) => ({ ids, agoMs: agoMs() }));
    const context = { queries, key, now: await this.#readClock(queries) };
    const { now } = context;
    const pausedMs = await this.#keepPause(context, request.pauseMs);
    for (const { ids, agoMs } of ended) {
      await update(context, Math.ceil(now - agoMs))
        .where("id", "in", ids)
        .execute();
    }
    if (request.unsent.length > 0) await remove(context).where("id", "in", request.unsent).execute();

    const own = this.#reserverOf(request);
    const ownText = JSON.stringify(own);
    const groups = await readGroups(context);
    const reservers = [own];
    for (const group of groups) {
      const reserver = group.reserver === ownText ? own : (parseReserver(group.reserver) ?? own);
      reservers.push(reserver);
      await this.#endLost(context, group, { reserver, own });
    }
    const limit = Math.min(...reservers.map(({ bound }) => bound.limit));
    const windowMs = Math.max(...reservers.map(({ bound }) => bound.windowMs));
    const over = await remove(context)
      .where("ended_at", "<", now - windowMs - marginMs)
      .executeTakeFirst();
    const used = groups.reduce((sum, { calls }) => sum + calls, 0) - Number(over.numDeletedRows);
    const free = pausedMs > 0 ? 0 : Math.max(0, limit - used);
    const reserved = request.wanted.slice(0, free);
    if (reserved.length > 0) {
      const row = { key, reserver: ownText, lost_at: now + own.callMs, ended_at: null };
      const rows = reserved.map((id) => ({ id, ...row }));
      await queries.insertInto("rate_reservations").values(rows).execute();
    }
    const result = { reserved: reserved.length, pausedMs };
    if (reserved.length === request.wanted.length) return result;
    const firstEnd = await readFirstEnd(context);
    return firstEnd === null ? result : { ...result, freeInMs: firstEnd + windowMs + marginMs + 1 - now };
  }

  #reserverOf({ bound, callMs, settleMs }: ReservationRequest): Reserver {
    return {
      process: this.#processes.self,
      bound: { limit: bound.limit, windowMs: Math.ceil(bound.windowMs) },
      callMs: Math.ceil(callMs),
      settleMs: Math.ceil(settleMs),
    };
  }

  /** Ends calls in flight whose process is dead, or has been unknown for too long, and rows with a different clock. */
  async #endLost(
    context: Context,
    group: Group,
    { reserver, own }: { readonly reserver: Reserver; readonly own: Reserver },
  ): Promise<void> {
    const { now } = context;
    const { lastEnd, firstLost, lastLost } = group;
    const { process, callMs, settleMs } = reserver;
    const isOtherClock =
      (this.#database.monotonicClock !== undefined && process.boot !== own.process.boot) ||
      (lastEnd !== null && lastEnd > now + settleMs) ||
      (lastLost !== null && lastLost > now + callMs);
    const isDead = firstLost !== null && reserver !== own && this.#processes.isAlive(process) === false;
    const isLost = firstLost !== null && firstLost <= now;
    if (!isOtherClock && !isDead && !isLost) return;
    let rows = update(context, now + settleMs)
      // From now on they are of this process's clock.
      .set({ reserver: JSON.stringify({ ...reserver, process: own.process }) })
      .where("reserver", "=", group.reserver);
    if (!isOtherClock) rows = rows.where("ended_at", "is", null);
    if (!isOtherClock && !isDead) rows = rows.where("lost_at", "<=", now);
    await rows.execute();
  }

  /** Of all processes that share the table: the clock of their boot, or that of the database server. */
  async #readClock(queries: LedgerQueries): Promise<number> {
    return this.#database.monotonicClock?.() ?? this.#database.now(queries);
  }

  #readPause(queries: LedgerQueries, key: string): Promise<Pause | undefined> {
    const pauses = queries.selectFrom("rate_pauses").selectAll().where("key", "=", key);
    return pauses.select(this.#database.wallClock.as("now")).executeTakeFirst();
  }

  /** Keeps the longer of two waits. A time in the future was stored by another clock: that wait starts again. */
  async #keepPause({ queries, key }: Context, askedMs: number): Promise<number> {
    const known = await this.#readPause(queries, key);
    const ms = Math.ceil(Math.max(leftOf(known), askedMs));
    if (known !== undefined && ms <= 0) {
      await queries.deleteFrom("rate_pauses").where("key", "=", key).execute();
    } else if (ms > leftOf(known) || (known !== undefined && known.set_at > known.now)) {
      const pause = { set_at: this.#database.wallClock, ms };
      await queries
        .insertInto("rate_pauses")
        .values({ key, ...pause })
        .onConflict((conflict) => conflict.column("key").doUpdateSet(pause))
        .execute();
    }
    return Math.max(0, ms);
  }
}

function update({ queries, key }: Context, ended_at: number) {
  return queries.updateTable("rate_reservations").set({ ended_at }).where("key", "=", key);
}

function remove({ queries, key }: Context) {
  return queries.deleteFrom("rate_reservations").where("key", "=", key);
}

function readGroups({ queries, key }: Context): Promise<Group[]> {
  const lostAt = sql<number | null>`case when ended_at is null then lost_at end`;
  return queries
    .selectFrom("rate_reservations")
    .select(({ fn }) => [
      "reserver",
      fn.countAll<number>().as("calls"),
      fn.max("ended_at").as("lastEnd"),
      fn.min(lostAt).as("firstLost"),
      fn.max(lostAt).as("lastLost"),
    ])
    .where("key", "=", key)
    .groupBy("reserver")
    .execute();
}

async function readFirstEnd({ queries, key }: Context): Promise<number | null> {
  const rows = queries.selectFrom("rate_reservations").where("key", "=", key);
  const first = await rows.select(({ fn }) => fn.min("ended_at").as("at")).executeTakeFirst();
  return first?.at ?? null;
}

function leftOf(pause: Pause | undefined): number {
  return pause === undefined ? 0 : Math.max(0, Math.min(pause.set_at, pause.now) + pause.ms - pause.now);
}

/** The column `reserver`; `undefined` when it cannot be read. */
function parseReserver(json: string): Reserver | undefined {
  return reserverSchema.safeParse(parseJson(json)).data;
}
