import type { StoredOperation, StoredRun } from "../model/history.ts";
import type { Clock, Ledger, LockStore } from "../model/ports.ts";
import type { KeptOutcome, Preference, TakenIn } from "../model/recovery.ts";
import type { SlotStore } from "../model/slots.ts";
import type { OperationFilter, RunFilter } from "./history.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import type { LedgerExport } from "./ledger-export.ts";
import { migrate } from "./migrate.ts";
import { allMigrations } from "./migrations/all-migrations.ts";
import { isPostgresLocation } from "./postgres/postgres-location.ts";
import { SqlLedger } from "./sql-ledger.ts";

/** A ledger, with what the commands that look at it need. */
export interface StateStore extends Ledger, LockStore, SlotStore {
  /** For messages: without a password. */
  readonly location: string;
  /** Whether there was none before it was opened. */
  readonly isNew: boolean;
  /** Everything the ledger holds, in a stable order and without secrets. */
  export(): Promise<LedgerExport>;
  /**
   * Takes an export over, lineage and serial included, in one transaction. Rejects with `ledger-not-empty` when the
   * ledger holds anything, and with `ledger-conflict` when the export contradicts itself.
   */
  import(exported: LedgerExport): Promise<void>;
  /** Made once with the ledger, as {@link Ledger.load} tells it with everything else. */
  lineage(): Promise<string>;
  /**
   * Takes in an outcome that a ledger failed to record, in one transaction, as `finish` would have. Any number of times.
   * Whose ledger it is, is for the caller to check. When it contradicts what the ledger holds, nothing is changed unless
   * `preference` says which of the two is believed; both stay in the history then.
   */
  takeIn(kept: KeptOutcome, preference?: Preference): Promise<TakenIn>;
  /** All operations, or those that the filter names, by start. */
  operations(filter?: OperationFilter): Promise<StoredOperation[]>;
  /** All runs, or those that the filter names, by start. */
  runs(filter?: RunFilter): Promise<StoredRun[]>;
}

/**
 * Opens the ledger at `location`: an absolute path of a SQLite file, which is made with its folder when there is none,
 * or the `postgres://` URL of a database, in which its schema is made when there is none. Any number of processes may
 * open it at once. Rejects with a `LedgerError` that says what is wrong, without the password of the location.
 */
export async function openLedger(options: { location: string; clock: Clock }): Promise<StateStore> {
  const database = await openDatabase(options);
  try {
    const isNew = await migrate(database, { migrations: allMigrations, clock: options.clock });
    return new SqlLedger(database, options.clock, isNew);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Loads the driver of the one database that is asked for. */
async function openDatabase(options: { location: string; clock: Clock }): Promise<LedgerDatabase> {
  if (isPostgresLocation(options.location)) {
    const { openPostgres } = await import("./postgres/postgres-database.ts");
    return openPostgres(options);
  }
  const { openSqlite } = await import("./sqlite/sqlite-database.ts");
  return openSqlite(options);
}
