import type { Migration } from "../migrate.ts";

/** The end of a lease by a clock that cannot be set. Processes are identified another way: their rate slots go. */
export const lockClocksMigration: Migration = {
  version: 8,
  name: "lock-clocks",
  async up(db) {
    await db.schema.alterTable("leases").addColumn("lease_until", "bigint").execute();
    await db.deleteFrom("slot_shares").execute();
  },
};
