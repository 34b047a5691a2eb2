import { pathToFileURL } from "node:url";
import Database from "libsql";
import { LedgerError } from "../ledger-error.ts";
import {
  assertSameFile,
  describeStill,
  type FileIdentity,
  isWritable,
  type StillFile,
} from "./ledger-file.ts";
import { isForbidden } from "./sqlite-failure.ts";

/** A connection that only reads. */
export interface ReadingConnection {
  readonly database: Database.Database;
  /** The file, when SQLite does not look for changes of it by itself. */
  readonly still: StillFile | undefined;
}

/**
 * Opens a file to read it. Who may not write one that nobody has open reads it as one that nobody can write to: the two
 * files beside it could not be made, or would belong to the wrong user and keep the right one out. `file` is what was found
 * at the location: SQLite would make one where there is none any more.
 */
export function connectToRead(location: string, file: FileIdentity | undefined): ReadingConnection {
  assertSameFile(location, file, "nothing was read");
  const still = describeStill(location);
  if (still === undefined) return { database: openToRead(location, location), still };
  const frozen = () => ({
    database: openToRead(`${pathToFileURL(location).href}?immutable=1`, location),
    still,
  });
  if (!isWritable(location)) return frozen();
  try {
    return { database: openToRead(location, location), still: undefined };
  } catch (error) {
    // Permission bits are not the only thing that can forbid it.
    if (!isForbidden(error)) throw error;
    return frozen();
  }
}

/** `name` is a path or a URI (https://www.sqlite.org/uri.html). */
function openToRead(name: string, location: string): Database.Database {
  const database = new Database(name);
  try {
    database.exec(`pragma busy_timeout = ${busyTimeout}`);
    refuseForeign(database, location);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a file to write to it, with the settings of a ledger. */
export function connect(location: string): Database.Database {
  const database = new Database(location);
  try {
    refuseForeign(database, location);
    applyPragmas(database, location);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Writes the first page of a database without tables. Not in WAL mode: under another name, the file would continue with an index
 * (-shm) of its first name, which no other process finds.
 */
export function writeFirstPage(path: string): void {
  const database = new Database(path);
  try {
    database.exec("pragma user_version = 1");
  } finally {
    database.close();
  }
}

/** A full disk and some other failures have rolled back already (https://www.sqlite.org/lang_transaction.html §3). */
export function rollBack(database: Database.Database): void {
  if (database.inTransaction) database.exec("rollback");
}

/** Closes a connection, and leaves the file whole by itself, so that it can be copied. */
export function disconnect(database: Database.Database): void {
  try {
    // libsql keeps its handles until the statements are collected as garbage, so SQLite does not do this by itself.
    database.exec("pragma wal_checkpoint(truncate)");
  } catch {
    // A reader is active, or the disk is full. The -wal file is as durable; a later checkpoint moves it.
  }
  database.close();
}

/** Refuses the database of a different program, before anything in it changes. */
function refuseForeign(database: Database.Database, location: string): void {
  const names = database.prepare("select name from sqlite_schema where type = 'table'").raw().all().flat();
  if (names.length === 0 || names.includes("schema_migrations")) return;
  throw new LedgerError("ledger-unreadable", `The ledger ${location} is the database of another program.`, {
    hint: "Set `state` in draftsync.yaml (or DRAFTSYNC_STATE) to another path.",
  });
}

/** How long SQLite itself waits for a lock, milliseconds. Short, because it blocks the whole process. */
const busyTimeout = 50;

/**
 * Settings that are made and read back, with the values that SQLite reports. WAL with `synchronous=FULL` syncs every
 * commit (https://www.sqlite.org/pragma.html#pragma_synchronous); `fullfsync` makes that reach the disk on macOS.
 */
const pragmas: readonly (readonly [name: string, value: string, readBack: string | number])[] = [
  ["busy_timeout", String(busyTimeout), busyTimeout],
  ["journal_mode", "wal", "wal"],
  ["synchronous", "full", 2],
  ["fullfsync", "on", 1],
  ["foreign_keys", "on", 1],
  // KiB, negative by SQLite's convention: the default of 2 MiB is smaller than the indices of a big catalogue.
  ["cache_size", "-32000", -32_000],
];

/** Makes the settings of a ledger's connection. Throws when SQLite did not take one of them. */
export function applyPragmas(database: Database.Database, location: string): void {
  for (const [name, value, readBack] of pragmas) {
    database.exec(`pragma ${name} = ${value}`);
    const [row] = database.prepare(`pragma ${name}`).raw().all();
    const got: unknown = Array.isArray(row) ? row[0] : undefined;
    if (got !== readBack) {
      throw new LedgerError(
        "ledger-unreadable",
        `The ledger ${location} cannot be opened safely: SQLite's ${name} is ${String(got)} and must be ${readBack}.`,
        { hint: "Put the ledger on a local disk: SQLite needs shared memory and file locks there." },
      );
    }
  }
}
