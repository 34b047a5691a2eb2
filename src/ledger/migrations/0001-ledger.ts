import { type Expression, type SqlBool, sql } from "kysely";
import type { Migration } from "../migrate.ts";
import type { LedgerQueries } from "../schema.ts";

/** The first schema. What was released stays as it is: later changes are migrations of their own. */
export const ledgerMigration: Migration = {
  version: 1,
  name: "ledger",
  async up(db) {
    await createRecords(db);
    await createJournal(db);
  },
};

async function createRecords(db: LedgerQueries): Promise<void> {
  await db.schema
    .createTable("meta")
    .addColumn("id", "integer", (column) => column.primaryKey().check(sql`id = 1`))
    .addColumn("lineage", "text", (column) => column.notNull())
    .addColumn("serial", "bigint", (column) => column.notNull())
    .addColumn("service_origin", "text")
    .addColumn("workspace", "text")
    .execute();
  await db.schema
    .createTable("protected_drafts")
    .addColumn("draft_id", "bigint", (column) => column.primaryKey())
    .execute();
  await db.schema
    .createTable("attachments")
    .addColumn("draft_id", "bigint", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull().check(among("kind", fileKinds)))
    .addColumn("file_id", "bigint", (column) => column.notNull())
    .addColumn("address", "text", (column) => column.notNull().unique())
    .addColumn("attributes", "text", (column) => column.notNull())
    .addColumn("sha256", "text")
    .addColumn("confirmed_by", "text", (column) => column.notNull().check(among("confirmed_by", confirmed)))
    .addColumn("confirmed_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("attachments_key", ["draft_id", "kind", "file_id"])
    .execute();
  await db.schema
    .createTable("publications")
    .addColumn("draft_id", "bigint", (column) => column.notNull())
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("product_id", "bigint", (column) => column.notNull())
    .addColumn("confirmed_by", "text", (column) => column.notNull().check(among("confirmed_by", confirmed)))
    .addColumn("confirmed_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("publications_key", ["draft_id", "revision"])
    .execute();
  await db.schema
    .createTable("duplicates")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("from_product_id", "bigint")
    .addColumn("from_draft_id", "bigint")
    .addColumn("source_product_id", "bigint", (column) => column.notNull())
    .addColumn("product_id", "bigint", (column) => column.notNull())
    .addColumn("confirmed_by", "text", (column) => column.notNull().check(among("confirmed_by", confirmed)))
    .addColumn("confirmed_at", "bigint", (column) => column.notNull())
    .addCheckConstraint("duplicates_from", sql`(from_product_id is null) <> (from_draft_id is null)`)
    .execute();
  await db.schema
    .createTable("uploads")
    .addColumn("upload_id", "text", (column) => column.primaryKey())
    .addColumn("upload_key", "text", (column) => column.notNull())
    .addColumn("source", "text")
    .addColumn("sha256", "text")
    .addColumn("size", "bigint")
    .addColumn("status", "text", (column) => column.notNull().check(among("status", uploadStatuses)))
    .addColumn("file_id", "bigint")
    .addColumn("registered_at", "bigint", (column) => column.notNull())
    .execute();
}

async function createJournal(db: LedgerQueries): Promise<void> {
  await db.schema
    .createTable("runs")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("command", "text", (column) => column.notNull())
    .addColumn("plan_id", "text", (column) => column.notNull())
    .addColumn("started_at", "bigint", (column) => column.notNull())
    .addColumn("finished_at", "bigint")
    .addColumn("status", "text")
    .addColumn("totals", "text")
    .execute();
  await db.schema
    .createTable("operations")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("run_id", "text", (column) => column.notNull().references("runs.id"))
    .addColumn("address", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull().check(among("kind", operationKinds)))
    .addColumn("method", "text", (column) => column.notNull())
    .addColumn("path", "text", (column) => column.notNull())
    .addColumn("intent", "text", (column) => column.notNull())
    .addColumn("started_at", "bigint", (column) => column.notNull())
    .addColumn("finished_at", "bigint")
    .addColumn("outcome", "text", (column) => column.check(among("outcome", outcomes)))
    .addColumn("status", "integer")
    .addColumn("attempts", "integer")
    .addColumn("failure", "text")
    .addColumn("settled_at", "bigint")
    .addColumn("settled_as", "text", (column) => column.check(among("settled_as", settlements)))
    .addColumn("settled_by", "text")
    .addCheckConstraint("operations_finished", sql`(outcome is null) = (finished_at is null)`)
    .addCheckConstraint("operations_settled", sql`(settled_as is null) = (settled_at is null)`)
    .execute();
  // Small for ever: nearly every operation ends, so in-doubt lookups never read the history.
  await db.schema
    .createIndex("operations_in_doubt")
    .on("operations")
    .column("address")
    .where(sql<SqlBool>`settled_at is null and (outcome is null or outcome = 'unknown')`)
    .execute();
}

// Written out, not imported: a migration must not change when the model does.
const fileKinds = ["product_files", "promotional_files"];
const confirmed = ["post", "patch", "probe", "import", "person"];
const uploadStatuses = ["pending", "success", "failed"];
const operationKinds = ["attach", "update", "detach", "publish", "duplicate", "upload"];
const outcomes = ["done", "rejected", "not_sent", "unknown"];
const settlements = ["done", "rejected", "not_sent", "superseded"];

function among(column: string, values: readonly string[]): Expression<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} in (${sql.join(values.map((value) => sql.lit(value)))})`;
}
