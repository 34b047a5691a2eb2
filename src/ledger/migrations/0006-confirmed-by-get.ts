import { type Expression, type SqlBool, sql } from "kysely";
import type { Migration } from "../migrate.ts";
import type { LedgerQueries } from "../schema.ts";

/**
 * Records may be confirmed by a GET. SQLite cannot change the condition of a column, so the column is made anew, filled,
 * and takes the name of the one it replaces.
 */
export const confirmedByGetMigration: Migration = {
  version: 6,
  name: "confirmed-by-get",
  async up(db) {
    for (const table of tables) await renew(db, table);
  },
};

async function renew(db: LedgerQueries, table: (typeof tables)[number]): Promise<void> {
  await db.schema
    .alterTable(table)
    // A column that may not be empty needs a default to be added with; every insert names its own value.
    .addColumn("confirmed", "text", (column) => column.notNull().defaultTo("person").check(isConfirmation))
    .execute();
  await sql`update ${sql.table(table)} set confirmed = confirmed_by`.execute(db);
  await db.schema.alterTable(table).dropColumn("confirmed_by").execute();
  await db.schema.alterTable(table).renameColumn("confirmed", "confirmed_by").execute();
}

const tables = ["attachments", "publications", "duplicates"] as const;

// Written out, not imported: a migration must not change when the model does.
const isConfirmation: Expression<SqlBool> = sql<SqlBool>`confirmed in ('post', 'patch', 'get', 'probe', 'import', 'person')`;
