import type { Migration } from "../migrate.ts";

/** When a person confirmed that the ledger may publish; null while it is new. */
export const confirmedLedgerMigration: Migration = {
  version: 11,
  name: "confirmed-ledger",
  async up(db) {
    await db.schema.alterTable("meta").addColumn("confirmed_at", "bigint").execute();
  },
};
