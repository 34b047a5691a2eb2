import type { Migration } from "../migrate.ts";

/** Drafts that may have been published before the ledger, until a person settles it. */
export const maybePublishedMigration: Migration = {
  version: 12,
  name: "maybe-published",
  async up(db) {
    await db.schema
      .createTable("maybe_published_drafts")
      .addColumn("draft_id", "bigint", (column) => column.primaryKey())
      .addColumn("found_at", "bigint", (column) => column.notNull())
      .execute();
  },
};
