import { randomUUID } from "node:crypto";
import type { Clock } from "../model/ports.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./tables.ts";

/**
 * One version of the schema, forward only. `up` runs in the transaction of all migrations that are due. `queries` has the
 * type of the newest schema, of which only a part exists: use the schema builder, SQL and tables of this migration.
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
 * Whether there is no schema, some of `migrations` are due, or none is. Changes nothing. Rejects with `ledger-too-new`
 * for the ledger of a newer draftsync and with `ledger-too-old` for one of an unreleased build.
 */
export async function schemaState(
  database: LedgerDatabase,
  migrations: readonly Migration[],
): Promise<"missing" | "due" | "current"> {
  const version = await database.transaction("read", (queries) =>
    schemaVersion(database, queries, migrations),
  );
  if (version === migrations.length) return "current";
  return version === 0 ? "missing" : "due";
}

/**
 * Applies the migrations that are due, all in one exclusive transaction, and gives a new ledger its lineage. Any number
 * of processes may call it at the same time: the second one finds the schema current. Resolves with whether this call
 * created the ledger. Rejects as {@link schemaState} does.
 */
export async function migrate(
  database: LedgerDatabase,
  { migrations, clock }: MigrateOptions,
): Promise<boolean> {
  if ((await schemaState(database, migrations)) === "current") return false;
  return database.transaction("exclusive", async (queries) => {
    const before = await schemaVersion(database, queries, migrations);
    const isNew = before === 0;
    if (isNew) {
      await database.prepare(queries);
      await queries.schema
        .createTable("schema_migrations")
        .addColumn("version", "integer", (column) => column.primaryKey())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("applied_at", "bigint", (column) => column.notNull())
        .execute();
    }
    for (const { version, name, up } of migrations.slice(before)) {
      await up(queries);
      await queries
        .insertInto("schema_migrations")
        .values({ version, name, applied_at: clock.now() })
        .execute();
    }
    if (isNew) await queries.insertInto("meta").values({ id: 1, lineage: randomUUID(), serial: 0 }).execute();
    return isNew;
  });
}

/** 0 when there is no ledger yet. */
async function schemaVersion(
  database: LedgerDatabase,
  queries: LedgerQueries,
  migrations: readonly Migration[],
): Promise<number> {
  if (!(await database.hasLedger(queries))) return 0;
  const { location } = database;
  const applied = await queries.selectFrom("schema_migrations").select(["version", "name"]).execute();
  if (applied.length === 0) {
    throw new LedgerError("ledger-corrupt", `The ledger ${location} has lost its schema version.`, {
      hint: "Keep a copy of it, then restore the ledger from a backup.",
    });
  }
  // Builds before 0.1 numbered other migrations from 1, so this comes before the comparison of versions.
  if (applied.some(({ version, name }) => (migrations[version - 1]?.name ?? name) !== name)) {
    throw new LedgerError(
      "ledger-too-old",
      `An unreleased build of draftsync wrote the ledger ${location}.`,
      {
        hint: "Run `draftsync state export` with that build, then `draftsync state import` into a new location.",
      },
    );
  }
  const version = Math.max(...applied.map((migration) => migration.version));
  if (version <= migrations.length) return version;
  throw new LedgerError(
    "ledger-too-new",
    `The ledger ${location} has schema version ${version}; this draftsync reads versions up to ${migrations.length}.`,
    { hint: "Update draftsync to the version that wrote the ledger last, or to a newer one." },
  );
}
