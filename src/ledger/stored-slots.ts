import { sql } from "kysely";
import type { SlotPause, SlotShare, SlotTable } from "../model/slots.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import type { LedgerQueries, SlotSharesTable } from "./schema.ts";
import { compileStep, runSteps } from "./step.ts";
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
  readonly #statements: ReturnType<typeof compileStatements>;

  constructor(database: LedgerDatabase) {
    this.#database = database;
    this.#statements = compileStatements(database.queries);
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
    const { put, remove, pause, resume } = this.#statements;
    const kept = new Set(after.shares.map(({ owner }) => owner));
    const gone = before.shares.filter(({ owner }) => !kept.has(owner));
    const changed = after.shares.filter((share) => !before.shares.includes(share));
    await runSteps(queries, [
      ...gone.map(({ owner }) => remove({ owner })),
      ...changed.map((share) => put(shareValues(share))),
      ...(before.pause !== undefined && after.pause === undefined ? [resume({})] : []),
      ...(after.pause !== undefined && after.pause !== before.pause
        ? [pause({ set_at: after.pause.setAt, ms: Math.ceil(after.pause.ms) })]
        : []),
    ]);
  }
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

function compileStatements(db: LedgerQueries) {
  return {
    put: compileStep<Pick<SlotSharesTable, keyof SlotSharesTable>>((slot) =>
      db
        .insertInto("slot_shares")
        .values({
          owner: slot("owner"),
          process: slot("process"),
          slots: slot("slots"),
          in_flight: slot("in_flight"),
          wanted: slot("wanted"),
          window_ms: slot("window_ms"),
          hold_ms: slot("hold_ms"),
          timeout_ms: slot("timeout_ms"),
          served_at: slot("served_at"),
          renewed_at: slot("renewed_at"),
          ended_at: slot("ended_at"),
        })
        .onConflict((conflict) =>
          conflict.column("owner").doUpdateSet((eb) => ({
            slots: eb.ref("excluded.slots"),
            in_flight: eb.ref("excluded.in_flight"),
            wanted: eb.ref("excluded.wanted"),
            hold_ms: eb.ref("excluded.hold_ms"),
            served_at: eb.ref("excluded.served_at"),
            renewed_at: eb.ref("excluded.renewed_at"),
            ended_at: eb.ref("excluded.ended_at"),
          })),
        ),
    ),
    remove: compileStep<{ owner: string }>((slot) =>
      db.deleteFrom("slot_shares").where("owner", "=", slot("owner")),
    ),
    pause: compileStep<{ set_at: number; ms: number }>((slot) =>
      db
        .insertInto("slot_pauses")
        .values({ id: 1, set_at: slot("set_at"), ms: slot("ms") })
        .onConflict((conflict) =>
          conflict
            .column("id")
            .doUpdateSet((eb) => ({ set_at: eb.ref("excluded.set_at"), ms: eb.ref("excluded.ms") })),
        ),
    ),
    resume: compileStep<Record<never, never>>(() => db.deleteFrom("slot_pauses")),
  };
}
