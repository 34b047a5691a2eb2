import type { Migration } from "../migrate.ts";

/** Which files are still to be detached because another one has taken their place. */
export const replacedFilesMigration: Migration = {
  version: 10,
  name: "replaced-files",
  async up(db) {
    await db.schema
      .alterTable("attachments")
      .addColumn("replaced", "integer", (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
