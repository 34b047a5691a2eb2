import type { Migration } from "../migrate.ts";

/** When things were looked at that could not be confirmed: the next refresh begins with others. */
export const looksMigration: Migration = {
  version: 5,
  name: "looks",
  async up(db) {
    await db.schema
      .createTable("looks")
      .addColumn("resource", "text", (column) => column.primaryKey())
      .addColumn("looked_at", "bigint", (column) => column.notNull())
      .execute();
  },
};
