import { sql } from "kysely";
import type { Migration } from "../migrate.ts";

/** The lock of the workspace: one row that is always there, so that its token outlives every lease. */
export const leaseMigration: Migration = {
  version: 2,
  name: "lease",
  async up(db) {
    await db.schema
      .createTable("leases")
      .addColumn("id", "integer", (column) => column.primaryKey().check(sql`id = 1`))
      .addColumn("token", "bigint", (column) => column.notNull())
      .addColumn("lock_id", "text")
      .addColumn("holder", "text")
      .addColumn("acquired_at", "bigint")
      .addColumn("expires_at", "bigint")
      .addCheckConstraint(
        "leases_held",
        sql`(lock_id is null) = (holder is null) and (lock_id is null) = (acquired_at is null) and (lock_id is null) = (expires_at is null)`,
      )
      .execute();
    await sql`insert into leases (id, token) values (1, 0)`.execute(db);
  },
};
