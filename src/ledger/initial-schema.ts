import { type Expression, type SqlBool, sql } from "kysely";
import type { Migration } from "./migrate.ts";
import type { LedgerQueries } from "./schema.ts";

/** The schema of the first release. Once it is released, later changes are migrations of their own. */
const initialSchema: Migration = {
  version: 1,
  name: "schema-2",
  async up(queries) {
    await createRecords(queries);
    await createJournal(queries);
    await createLock(queries);
    await createReservations(queries);
  },
};

/** Every migration, numbered from 1 without gaps, in the order in which they are applied. */
export const migrations: readonly Migration[] = [initialSchema];

async function createRecords({ schema }: LedgerQueries): Promise<void> {
  await schema
    .createTable("meta")
    .addColumn("id", "integer", (column) => column.primaryKey().check(sql`id = 1`))
    .addColumn("lineage", "text", (column) => column.notNull())
    .addColumn("serial", "bigint", (column) => column.notNull())
    .addColumn("service_origin", "text")
    .addColumn("workspace", "text")
    .addColumn("confirmed_at", "bigint")
    .execute();
  await schema
    .createTable("draft_titles")
    .addColumn("draft_id", "bigint", (column) => column.primaryKey())
    .addColumn("title", "text", (column) => column.notNull())
    .execute();
  await schema
    .createTable("protected_drafts")
    .addColumn("draft_id", "bigint", (column) => column.primaryKey())
    .execute();
  await schema
    .createTable("maybe_published")
    .addColumn("draft_id", "bigint", (column) => column.primaryKey())
    .addColumn("at", "bigint", (column) => column.notNull())
    .execute();
  await schema
    .createTable("attachments")
    .addColumn("draft_id", "bigint", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull().check(among("kind", fileKinds)))
    .addColumn("file_id", "bigint", (column) => column.notNull())
    .addColumn("address", "text", (column) => column.notNull().unique())
    .addColumn("attributes", "text", (column) => column.notNull())
    .addColumn("sha256", "text")
    .addColumn("replaced", "integer", (column) => column.check(sql`replaced = 1`))
    .addColumn("provenance_by", "text", (column) => column.notNull().check(isConfirmation))
    .addColumn("provenance_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("attachments_key", ["draft_id", "kind", "file_id"])
    .execute();
  await schema
    .createTable("publications")
    .addColumn("draft_id", "bigint", (column) => column.notNull())
    .addColumn("revision", "bigint", (column) => column.notNull())
    .addColumn("product_id", "bigint", (column) => column.notNull())
    .addColumn("provenance_by", "text", (column) => column.notNull().check(isConfirmation))
    .addColumn("provenance_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("publications_key", ["draft_id", "revision"])
    .execute();
  await schema
    .createTable("duplicates")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("from", "text", (column) => column.notNull())
    .addColumn("source_product_id", "bigint", (column) => column.notNull())
    .addColumn("product_id", "bigint", (column) => column.notNull())
    .addColumn("provenance_by", "text", (column) => column.notNull().check(isConfirmation))
    .addColumn("provenance_at", "bigint", (column) => column.notNull())
    .execute();
  await schema
    .createTable("uploads")
    .addColumn("upload_id", "text", (column) => column.primaryKey())
    .addColumn("upload_key", "text")
    .addColumn("source", "text")
    .addColumn("sha256", "text")
    .addColumn("size", "bigint")
    .addColumn("status", "text", (column) => column.notNull().check(among("status", uploadStatuses)))
    .addColumn("file_id", "bigint")
    .addColumn("at", "bigint", (column) => column.notNull())
    .execute();
  await schema
    .createTable("stored_objects")
    .addColumn("upload_key", "text", (column) => column.primaryKey())
    .addColumn("source", "text", (column) => column.notNull())
    .addColumn("sha256", "text", (column) => column.notNull())
    .addColumn("size", "bigint", (column) => column.notNull())
    .addColumn("at", "bigint", (column) => column.notNull())
    .execute();
  await schema
    .createTable("refreshes")
    .addColumn("resource", "text", (column) => column.primaryKey())
    .addColumn("at", "bigint", (column) => column.notNull())
    .execute();
}

async function createJournal({ schema }: LedgerQueries): Promise<void> {
  await schema
    .createTable("runs")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("command", "text", (column) => column.notNull())
    .addColumn("plan_id", "text", (column) => column.notNull())
    .addColumn("started_at", "bigint", (column) => column.notNull())
    .addColumn("finished_at", "bigint")
    .addColumn("status", "text")
    .addColumn("totals", "text")
    .addColumn("started_by", "text")
    .execute();
  await schema
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
  // Stays small, because nearly every operation ends: looking up operations in doubt never reads the history.
  await schema
    .createIndex("operations_in_doubt")
    .on("operations")
    .column("address")
    .where(sql<SqlBool>`settled_at is null and (outcome is null or outcome = 'unknown')`)
    .execute();
  await schema.createIndex("operations_by_run").on("operations").column("run_id").execute();
  await schema
    .createTable("notices")
    .addColumn("id", "integer", (column) => column.primaryKey().check(sql`id = 1`))
    .addColumn("status", "text", (column) => column.notNull())
    .execute();
}

/** One row, inserted here and never deleted, so that the token outlives every lease. */
async function createLock(queries: LedgerQueries): Promise<void> {
  await queries.schema
    .createTable("leases")
    .addColumn("id", "integer", (column) => column.primaryKey().check(sql`id = 1`))
    .addColumn("token", "bigint", (column) => column.notNull())
    .addColumn("lock_id", "text")
    .addColumn("holder", "text")
    .addColumn("acquired_at", "bigint")
    .addColumn("expires_at", "bigint")
    .addColumn("lease_until", "bigint")
    .addCheckConstraint(
      "leases_held",
      sql`(lock_id is null) = (holder is null) and (lock_id is null) = (acquired_at is null) and (lock_id is null) = (expires_at is null)`,
    )
    .execute();
  await queries.insertInto("leases").values({ id: 1, token: 0 }).execute();
}

async function createReservations({ schema }: LedgerQueries): Promise<void> {
  await schema
    .createTable("rate_reservations")
    .addColumn("key", "text", (column) => column.notNull())
    .addColumn("id", "text", (column) => column.notNull())
    .addColumn("reserver", "text", (column) => column.notNull())
    .addColumn("lost_at", "bigint", (column) => column.notNull())
    .addColumn("ended_at", "bigint")
    .addPrimaryKeyConstraint("rate_reservations_key", ["key", "id"])
    .execute();
  await schema
    .createIndex("rate_reservations_by_reserver")
    .on("rate_reservations")
    .columns(["key", "reserver", "ended_at", "lost_at"])
    .execute();
  await schema
    .createTable("rate_pauses")
    .addColumn("key", "text", (column) => column.primaryKey())
    .addColumn("set_at", "bigint", (column) => column.notNull())
    .addColumn("ms", "bigint", (column) => column.notNull())
    .execute();
}

// Written out, not imported from the model: a released migration must not change when the model does.
const fileKinds = ["product_files", "promotional_files"];
const uploadStatuses = ["pending", "success", "failed"];
const operationKinds = ["attach", "update", "detach", "publish", "duplicate", "upload"];
const outcomes = ["done", "rejected", "not_sent", "unknown"];
const settlements = ["done", "rejected", "not_sent", "superseded"];
const isConfirmation = among("provenance_by", ["post", "patch", "get", "probe", "import", "operator"]);

function among(column: string, values: readonly string[]): Expression<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} in (${sql.join(values.map((value) => sql.lit(value)))})`;
}
