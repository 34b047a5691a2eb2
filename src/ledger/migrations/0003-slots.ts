import { sql } from "kysely";
import type { Migration } from "../migrate.ts";

/** The slots of the rate bound, divided among the processes that share the ledger. */
export const slotsMigration: Migration = {
  version: 3,
  name: "slots",
  async up(db) {
    await db.schema
      .createTable("slot_shares")
      .addColumn("owner", "text", (column) => column.primaryKey())
      .addColumn("process", "text", (column) => column.notNull())
      .addColumn("slots", "bigint", (column) => column.notNull())
      .addColumn("in_flight", "bigint", (column) => column.notNull())
      .addColumn("wanted", "bigint", (column) => column.notNull())
      .addColumn("window_ms", "bigint", (column) => column.notNull())
      .addColumn("hold_ms", "bigint", (column) => column.notNull())
      .addColumn("timeout_ms", "bigint", (column) => column.notNull())
      .addColumn("served_at", "bigint", (column) => column.notNull())
      .addColumn("renewed_at", "bigint", (column) => column.notNull())
      .addColumn("ended_at", "bigint")
      .execute();
    await db.schema
      .createTable("slot_pauses")
      .addColumn("id", "integer", (column) => column.primaryKey().check(sql`id = 1`))
      .addColumn("set_at", "bigint", (column) => column.notNull())
      .addColumn("ms", "bigint", (column) => column.notNull())
      .execute();
  },
};
