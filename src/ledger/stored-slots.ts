import { sql } from "kysely";
import type { SlotPause, SlotShare, SlotTable } from "../model/slots.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import type { LedgerQueries, SlotSharesTable } from "./schema.ts";
import { processSchema } from "./stored-json.ts";
import { StoredRow } from "./stored-row.ts";

const shareColumns = [
  "owner",
  "process",
  "slots",
  "in_flight",
  "wanted",
  "window_ms",
  "hold_ms",
  "timeout_ms",
  "served_at",
  "renewed_at",
  "ended_at",
] as const;

const pauseColumns = ["id", "set_at", "ms"] as const;

/**
 * The slots of the rate bound in a ledger. They are no part of what the ledger records: no plan, export or serial shows
 * them, and whoever uses them need not hold the lock of the workspace.
 */
export class StoredSlots {
  readonly #database: LedgerDatabase;

  constructor(database: LedgerDatabase) {
    this.#database = database;
  }

  /** model/slots.ts, `SlotStore.updateSlots`. */
  async update(decide: (table: SlotTable, now: number) => SlotTable): Promise<SlotTable> {
    return this.#database.transaction("write", async (queries) => {
      const before = await this.#read(queries);
      const after = decide(before, await this.#sharedClock(queries));
      await this.#write(queries, before, after);
      return after;
    });
  }

  /** How long no call may be sent yet, because the service asked for it; milliseconds. */
  async pausedMs(queries: LedgerQueries): Promise<number> {
    const { pause } = await this.#read(queries);
    if (pause === undefined) return 0;
    const now = await this.#sharedClock(queries);
    // A time that has yet to come was stored before the clock was set back.
    return Math.max(0, Math.min(pause.setAt, now) + pause.ms - now);
  }

  /** Of all processes that share the ledger: the clock of their boot, or that of the database server. */
  async #sharedClock(queries: LedgerQueries): Promise<number> {
    const { monotonicClock, wallClock } = this.#database;
    if (monotonicClock !== undefined) return monotonicClock();
    const asked = sql<{ now: number }>`select ${wallClock} as now`;
    return (await asked.execute(queries)).rows[0]?.now ?? 0;
  }

  async #read(queries: LedgerQueries): Promise<SlotTable> {
    const shares = await queries
      .selectFrom("slot_shares")
      .select([...shareColumns])
      .orderBy("owner")
      .execute();
    const pause = await queries
      .selectFrom("slot_pauses")
      .select([...pauseColumns])
      .executeTakeFirst();
    const read = shares.map((share) => this.#readShare(shareColumns.map((column) => share[column])));
    if (pause === undefined) return { shares: read };
    return { shares: read, pause: this.#readPause(pauseColumns.map((column) => pause[column])) };
  }

  #readShare(values: readonly unknown[]): SlotShare {
    const { location } = this.#database;
    const row = new StoredRow(
      { location, table: "slot_shares", columns: shareColumns, keyLength: 1 },
      values,
    );
    const endedAt = row.optionalInteger("ended_at");
    return {
      owner: row.text("owner"),
      process: row.json("process", processSchema),
      slots: row.integer("slots"),
      inFlight: row.integer("in_flight"),
      wanted: row.integer("wanted"),
      windowMs: row.integer("window_ms"),
      holdMs: row.integer("hold_ms"),
      timeoutMs: row.integer("timeout_ms"),
      servedAt: row.integer("served_at"),
      renewedAt: row.integer("renewed_at"),
      ...(endedAt === undefined ? {} : { endedAt }),
    };
  }

  #readPause(values: readonly unknown[]): SlotPause {
    const { location } = this.#database;
    const row = new StoredRow(
      { location, table: "slot_pauses", columns: pauseColumns, keyLength: 1 },
      values,
    );
    return { setAt: row.integer("set_at"), ms: row.integer("ms") };
  }

  async #write(queries: LedgerQueries, before: SlotTable, after: SlotTable): Promise<void> {
    const kept = new Set(after.shares.map(({ owner }) => owner));
    for (const { owner } of before.shares) {
      if (!kept.has(owner)) await queries.deleteFrom("slot_shares").where("owner", "=", owner).execute();
    }
    for (const share of after.shares) {
      if (!before.shares.includes(share)) await writeShare(queries, share);
    }
    if (after.pause !== before.pause) await writePause(queries, after.pause);
  }
}

async function writeShare(queries: LedgerQueries, share: SlotShare): Promise<void> {
  const values = shareValues(share);
  const { owner, process, window_ms, timeout_ms, ...changed } = values;
  await queries
    .insertInto("slot_shares")
    .values(values)
    .onConflict((conflict) => conflict.column("owner").doUpdateSet(changed))
    .execute();
}

async function writePause(queries: LedgerQueries, pause: SlotPause | undefined): Promise<void> {
  if (pause === undefined) {
    await queries.deleteFrom("slot_pauses").execute();
    return;
  }
  const values = { set_at: pause.setAt, ms: Math.ceil(pause.ms) };
  await queries
    .insertInto("slot_pauses")
    .values({ id: 1, ...values })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(values))
    .execute();
}

function shareValues(share: SlotShare): SlotSharesTable {
  return {
    owner: share.owner,
    process: JSON.stringify(share.process),
    slots: share.slots,
    in_flight: share.inFlight,
    wanted: share.wanted,
    window_ms: Math.ceil(share.windowMs),
    hold_ms: Math.ceil(share.holdMs),
    timeout_ms: Math.ceil(share.timeoutMs),
    served_at: share.servedAt,
    renewed_at: share.renewedAt,
    ended_at: share.endedAt ?? null,
  };
}
