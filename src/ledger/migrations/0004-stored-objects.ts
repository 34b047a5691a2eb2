import type { Migration } from "../migrate.ts";

/** Bytes that are in object storage before they are registered: a run that was killed there puts them only once. */
export const storedObjectsMigration: Migration = {
  version: 4,
  name: "stored-objects",
  async up(db) {
    await db.schema
      .createTable("stored_objects")
      .addColumn("upload_key", "text", (column) => column.primaryKey())
      .addColumn("source", "text", (column) => column.notNull())
      .addColumn("sha256", "text", (column) => column.notNull())
      .addColumn("size", "bigint", (column) => column.notNull())
      .addColumn("stored_at", "bigint", (column) => column.notNull())
      .execute();
  },
};
