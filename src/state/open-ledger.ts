import type { Clock, Ledger, LockStore } from "../model/ports.ts";
import type { OperationFilter, RunFilter, StoredOperation, StoredRun } from "./history.ts";
import type { LedgerExport } from "./ledger-export.ts";
import { migrate } from "./migrate.ts";
import { allMigrations } from "./migrations/all-migrations.ts";
import { SqlLedger } from "./sql-ledger.ts";
import { openSqlite } from "./sqlite/sqlite-database.ts";

/** A ledger, with what the commands that look at it need. */
export interface StateStore extends Ledger, LockStore {
  readonly location: string;
  /** Everything the ledger holds, in a stable order and without secrets. */
  export(): Promise<LedgerExport>;
  /** All operations, or those that the filter names, by start. */
  operations(filter?: OperationFilter): Promise<StoredOperation[]>;
  /** All runs, or those that the filter names, by start. */
  runs(filter?: RunFilter): Promise<StoredRun[]>;
}

/**
 * Opens the ledger in the SQLite file at `location`, an absolute path; makes it, and its folder, when there is none.
 * Any number of processes may open it at once. Rejects with a `LedgerError` that says what is wrong with the file.
 */
export async function openLedger(options: { location: string; clock: Clock }): Promise<StateStore> {
  const database = await openSqlite(options);
  try {
    await migrate(database, { migrations: allMigrations, clock: options.clock });
  } catch (error) {
    await database.close();
    throw error;
  }
  return new SqlLedger(database, options.clock);
}
