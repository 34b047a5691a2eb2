import { sql } from "kysely";
import type { Migration } from "../migrate.ts";

/** What people were last told of the workspace, and the way from a run to its operations. */
export const roundsMigration: Migration = {
  version: 7,
  name: "rounds",
  async up(db) {
    await db.schema
      .createTable("notices")
      .addColumn("id", "integer", (column) => column.primaryKey().check(sql`id = 1`))
      .addColumn("status", "text", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("operations_by_run").on("operations").column("run_id").execute();
  },
};
