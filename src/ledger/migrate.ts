import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Clock } from "../model/ports.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./schema.ts";

/**
 * One step of the schema, forward only. `up` runs inside the transaction of all steps that are due. The type of its
 * `queries` is that of the last schema, which may not be there yet: it uses the schema builder and SQL alone.
 */
export interface Migration {
  /** From 1, without gaps. */
  readonly version: number;
  readonly name: string;
  up(queries: LedgerQueries): Promise<void>;
}

/** What {@link migrate} needs. */
export interface MigrateOptions {
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
}

/**
 * How far the schema is: there is none, some of `migrations` are due, or none is. Changes nothing. Rejects with
 * `ledger-too-new`.
 */
export async function schemaState(
  database: LedgerDatabase,
  migrations: readonly Migration[],
): Promise<"missing" | "due" | "current"> {
  const newest = migrations.at(-1)?.version ?? 0;
  const found = await database.transaction("read", (queries) => schemaVersion(database, queries));
  refuseNewer(database, found, newest);
  if (found === newest) return "current";
  return found === 0 ? "missing" : "due";
}

/**
 * Brings the schema to the last of `migrations`, all steps in one exclusive transaction, and gives a new ledger its
 * lineage. Any number of processes may do so at once: whoever comes second finds it done. Resolves with whether the
 * ledger was made here.
 *
 * Rejects with `ledger-too-new` when a newer draftsync has written the schema.
 */
export async function migrate(database: LedgerDatabase, options: MigrateOptions): Promise<boolean> {
  if ((await schemaState(database, options.migrations)) === "current") return false;
  return database.transaction("exclusive", (queries) => applyDue(database, queries, options));
}

async function applyDue(
  database: LedgerDatabase,
  queries: LedgerQueries,
  options: MigrateOptions,
): Promise<boolean> {
  const found = await schemaVersion(database, queries);
  refuseNewer(database, found, options.migrations.at(-1)?.version ?? 0);
  if (found === 0) {
    await database.prepare(queries);
    await queries.schema
      .createTable("schema_migrations")
      .addColumn("version", "integer", (column) => column.primaryKey())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("applied_at", "bigint", (column) => column.notNull())
      .execute();
  }
  for (const { version, name, up } of options.migrations) {
    if (version <= found) continue;
    await up(queries);
    const applied_at = options.clock.now();
    await queries.insertInto("schema_migrations").values({ version, name, applied_at }).execute();
  }
  if (found === 0)
    await queries.insertInto("meta").values({ id: 1, lineage: randomUUID(), serial: 0 }).execute();
  return found === 0;
}

/** 0 when there is no ledger yet. */
async function schemaVersion(database: LedgerDatabase, queries: LedgerQueries): Promise<number> {
  if (!(await database.hasLedger(queries))) return 0;
  const row = await queries
    .selectFrom("schema_migrations")
    .select(sql<number | null>`max(version)`.as("version"))
    .executeTakeFirst();
  if (typeof row?.version === "number") return row.version;
  throw new LedgerError("ledger-corrupt", `The ledger ${database.location} has lost its schema version.`, {
    hint: "Keep a copy of it, then restore the ledger from a backup.",
  });
}

function refuseNewer(database: LedgerDatabase, found: number, newest: number): void {
  if (found <= newest) return;
  throw new LedgerError(
    "ledger-too-new",
    `The ledger ${database.location} has schema version ${found}; this draftsync reads versions up to ${newest}.`,
    { hint: "Update draftsync to the version that wrote the ledger last, or to a newer one." },
  );
}
