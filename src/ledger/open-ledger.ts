import type { Clock } from "../model/ports.ts";
import type { ProcessTable } from "../model/process.ts";
import { migrations as known } from "./initial-schema.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import { type LedgerReader, missingLedger } from "./ledger-reader.ts";
import { type Migration, migrate, schemaState } from "./migrate.ts";
import { isPostgresLocation } from "./postgres/postgres-location.ts";
import { StateStore } from "./state-store.ts";

export type { StateStore };

/** Arguments of {@link openLedgerReader}. */
export interface ReaderOptions {
  readonly location: string;
  readonly clock: Clock;
  /** Of the schema; those of this version when absent. */
  readonly migrations?: readonly Migration[];
}

/** Arguments of {@link openLedger}. */
export interface OpenOptions extends ReaderOptions {
  /** Called when the database server does not answer, with how long it is waited for, milliseconds. */
  readonly onWaiting?: (ms: number) => void;
  /** By which a lock's holder on this machine is judged; the machine's when absent. */
  readonly processes?: ProcessTable;
}

/**
 * Opens the ledger at `location`: an absolute path of a SQLite file, which is made with its folder when there is none,
 * or the `postgres://` URL of a database, in which its schema is made when there is none. Any number of processes may
 * open it at once. Rejects with a `LedgerError` that says what is wrong, without the password of the location.
 */
export async function openLedger(options: OpenOptions): Promise<StateStore> {
  const { migrations = known, clock, processes } = options;
  const database = await openDatabase(options);
  try {
    const isNew = await migrate(database, { migrations, clock });
    return new StateStore(database, { processes, isNew });
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Opens the ledger at `location` to read it. Creates nothing, and needs no write access to the file, its folder or the
 * database. Rejects with `ledger-too-old` when an older draftsync wrote the ledger: reading must not lock that version out.
 */
export async function openLedgerReader(options: ReaderOptions): Promise<LedgerReader> {
  const database = await openDatabaseToRead(options);
  if (database === undefined) return missingLedger(options.location, options.clock);
  try {
    const state = await schemaState(database, options.migrations ?? known);
    if (state === "current") return new StateStore(database);
    if (state === "due") throw tooOld(database);
    await database.close();
    return missingLedger(database.location, options.clock);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function tooOld({ location }: LedgerDatabase): LedgerError {
  return new LedgerError("ledger-too-old", `An older version of draftsync wrote the ledger ${location}.`, {
    hint: "This command only reads. The next command that writes, such as `draftsync apply`, upgrades the ledger; older versions cannot use it after that.",
  });
}

/** Loads the driver of the one database that is asked for. */
async function openDatabase(options: OpenOptions): Promise<LedgerDatabase> {
  if (isPostgresLocation(options.location)) return openPostgresDatabase(options);
  const { openSqlite } = await import("./sqlite/sqlite-database.ts");
  return openSqlite(options);
}

/** `undefined` when there is nothing at the location. */
async function openDatabaseToRead(options: ReaderOptions): Promise<LedgerDatabase | undefined> {
  if (isPostgresLocation(options.location)) return openPostgresDatabase(options);
  const { openSqliteToRead } = await import("./sqlite/sqlite-database.ts");
  return openSqliteToRead(options);
}

async function openPostgresDatabase(
  options: Pick<OpenOptions, "location" | "clock" | "onWaiting">,
): Promise<LedgerDatabase> {
  const { openPostgres } = await import("./postgres/postgres-database.ts");
  return openPostgres(options);
}
