import { setTimeout as pause } from "node:timers/promises";
import type { RawBuilder } from "kysely";
import type { Clock } from "../model/ports.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./tables.ts";

/**
 * How a transaction shares the ledger.
 *
 * | mode | sees | shares with |
 * |---|---|---|
 * | read | one state of the ledger throughout | everyone |
 * | write | the last committed state; may change it | readers |
 * | unsynced | as write; SQLite may lose it when the machine fails, not when the process does | readers |
 * | exclusive | as write; used by migrations | readers, and never another migration |
 */
export type TransactionMode = "read" | "write" | "unsynced" | "exclusive";

/** What differs between the databases a ledger may live in. Everything else goes through Kysely. */
export interface LedgerDatabase {
  /** For messages, without secrets. */
  readonly location: string;
  /**
   * Resolves once the transaction is committed and on disk. Waits for other writers, within bounds, and may then
   * call `work` again from the start. Rejects with a `LedgerError`, and then nothing was changed, unless its
   * code is `ledger-outcome-unknown`.
   */
  transaction<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>): Promise<T>;
  /**
   * Passes all rows of a table to `take`, some at a time and unsorted: arrays of values in the order of `columns`. The
   * fastest way the database has to read a hundred thousand rows. Only inside a transaction.
   */
  scan(
    queries: LedgerQueries,
    table: string,
    columns: readonly string[],
    take: (rows: readonly (readonly unknown[])[]) => void,
  ): Promise<void>;
  /** SQL for whole epoch milliseconds: the server's clock, or the machine's where there is no server. */
  readonly wallClock: RawBuilder<number>;
  /**
   * Epoch milliseconds, by one clock for all that share the ledger: the server's, or the machine's where there is no server. Dates
   * operations and runs, and says how long ago one was lost.
   */
  now(queries: LedgerQueries): Promise<number>;
  /**
   * Whole milliseconds since the machine's boot, which no one can set. Present where every process that has this ledger
   * open runs on one machine.
   */
  monotonicClock?(): number;
  /**
   * Moves what is committed into the file at the location, which is what people copy and keep. As far as readers allow, and never
   * rejects. Present where commits go to another file first.
   */
  checkpoint?(): Promise<void>;
  /** Whether there is a ledger; when there is none, it may be made. Rejects when there is something else. */
  hasLedger(queries: LedgerQueries): Promise<boolean>;
  /** Makes what the tables are to lie in. Only inside an exclusive transaction, before the first migration. */
  prepare(queries: LedgerQueries): Promise<void>;
  close(): Promise<void>;
}

/** Arguments of {@link retryWhileBusy}. */
export interface RetryWhileBusyOptions {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly busyTimeoutMs: number;
  /** Whether a failure may be over soon, and changed nothing. */
  readonly passes: (error: unknown) => boolean;
  /** When the wait began, if that is before the first try. */
  readonly since?: () => number | undefined;
}

/** Tries until it succeeds or the timeout has passed. Rejects with the last failure. */
export async function retryWhileBusy<T>(
  { clock, busyTimeoutMs, passes, since = () => undefined }: RetryWhileBusyOptions,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const from = Math.min(startedAt, since() ?? startedAt);
      if (!passes(error) || clock.monotonic() >= from + busyTimeoutMs) throw error;
      // At random, so that processes which met once do not meet again.
      await pause(5 + Math.random() * 45);
    }
  }
}

/**
 * A parameter of a statement, or `ledger-invalid-value`: what both databases store as it is. SQLite's driver ends the
 * process on a boolean, cuts a text at its first NUL and replaces halves of surrogate pairs; PostgreSQL refuses NUL.
 */
export function storable(value: unknown): string | number | null {
  if (value === null) return null;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  if (typeof value === "string" && value.isWellFormed() && !value.includes("\0")) return value;
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : String(value);
  throw new LedgerError(
    "ledger-invalid-value",
    `The ledger cannot hold ${shown}: only whole numbers up to 2^53 - 1, and texts of valid Unicode without NUL.`,
  );
}
