import type { Migration } from "../migrate.ts";

/** When things were looked at that could not be confirmed: the next refresh begins with others. */
export const looksMigration: Migration = {
  version: 5,
  name: "refreshes",
  async up(db) {
    await db.schema
      .createTable("refreshes")
      .addColumn("resource", "text", (column) => column.primaryKey())
      .addColumn("refreshed_at", "bigint", (column) => column.notNull())
      .execute();
  },
};
