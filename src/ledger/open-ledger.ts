import type { LockStore } from "../model/lock.ts";
import type { Clock, Ledger, LedgerOwner } from "../model/ports.ts";
import type { ProcessTable } from "../model/process.ts";
import type { RateStore, ReservationRequest, ReservationResult } from "../model/rate.ts";
import type { ConflictChoice, RecoveryRecord, ReplayResult } from "../model/recovery.ts";
import { migrations } from "./initial-schema.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { missingLedger } from "./ledger-reader.ts";
import { migrate, schemaState } from "./migrate.ts";
import { isPostgresLocation } from "./postgres/postgres-location.ts";
import { SqlLedger } from "./sql-ledger.ts";
import type { LedgerExport } from "./transfer.ts";

/** A ledger, with what the commands that look at it need. */
export interface StateStore extends Ledger, LockStore, RateStore, LedgerReader {
  /** `key` tells API keys apart in a table that workspaces share; empty for the ledger's own calls. */
  reserve(request: ReservationRequest, key?: string): Promise<ReservationResult>;
  /** Whether there was none before it was opened. */
  readonly isNew: boolean;
  /**
   * Takes an export over, lineage and serial included, in one transaction. Rejects with `ledger-not-empty` when the
   * ledger holds anything, and with `ledger-conflict` when the export contradicts itself.
   */
  import(exported: LedgerExport): Promise<void>;
  /** Records that a person confirmed the ledger (epoch milliseconds); a second confirmation changes nothing. */
  confirm(at: number): Promise<void>;
  /** Created once with the ledger; {@link Ledger.load} returns it too. */
  lineage(): Promise<string>;
  /**
   * Replays a record of the recovery log in one transaction, as `finish` would have recorded it; a second replay changes
   * nothing. The caller checks whose ledger it is. A record that contradicts the ledger changes nothing without `choice`.
   */
  replay(record: RecoveryRecord, choice?: ConflictChoice): Promise<ReplayResult>;
  /**
   * Stores the status that notifications report; resolves with the previous one, `undefined` when there was none. Of
   * several concurrent processes only one receives the previous status, so only one notifies. No plan, export or serial
   * shows it, and it needs no lock.
   */
  exchangeNotice(status: string | undefined): Promise<string | undefined>;
  /** Operations that a wrong clock dated into the future count as lost now. */
  redate(operationIds: readonly string[]): Promise<void>;
  /** Moves the ledger to a new address of the same service. Refuses with `ledger-owner-mismatch` for another workspace. */
  rebind(owner: LedgerOwner): Promise<void>;
  /** Removes runs of a command that started before `before` (epoch milliseconds) and sent nothing; resolves with their number. */
  forgetQuietRuns(of: { readonly command: string; readonly before: number }): Promise<number>;
}

/** Arguments of {@link openLedger}. */
export interface OpenOptions {
  readonly location: string;
  readonly clock: Clock;
  /** Called when the database server does not answer, with how long it is waited for, milliseconds. */
  readonly onWaiting?: (ms: number) => void;
  /** By which a lock's holder on this machine is judged; the machine's when absent. */
  readonly processes?: ProcessTable;
}

/** Arguments of {@link openLedgerReader}. */
export interface ReaderOptions {
  readonly location: string;
  readonly clock: Clock;
}

/**
 * Opens the ledger at `location`: an absolute path of a SQLite file, which is made with its folder when there is none,
 * or the `postgres://` URL of a database, in which its schema is made when there is none. Any number of processes may
 * open it at once. Rejects with a `LedgerError` that says what is wrong, without the password of the location.
 */
export async function openLedger(options: OpenOptions): Promise<StateStore> {
  const database = await openDatabase(options);
  try {
    const isNew = await migrate(database, { migrations, clock: options.clock });
    return new SqlLedger(database, { clock: options.clock, processes: options.processes, isNew });
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Opens the ledger at `location` to read it. Creates nothing, and needs no write access to the file, its folder or the
 * database unless an older draftsync wrote the ledger: then its schema is migrated first.
 */
export async function openLedgerReader(options: ReaderOptions): Promise<LedgerReader> {
  const database = await openDatabaseToRead(options);
  if (database === undefined) return missingLedger(options.location);
  const state = await schemaState(database, migrations).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  if (state === "current") return new SqlLedger(database, options);
  await database.close();
  return state === "missing" ? missingLedger(database.location) : openLedger(options);
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
