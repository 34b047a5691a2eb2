import type Database from "libsql";
import { LedgerError } from "../ledger-error.ts";

/** How long SQLite itself waits for a lock, milliseconds. Short: the whole process stands still meanwhile. */
export const busyTimeout = 50;

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
