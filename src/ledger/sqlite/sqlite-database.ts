import { Kysely, sql } from "kysely";
import type Database from "libsql";
import type { Clock } from "../../model/ports.ts";
import { type LedgerDatabase, retryWhileBusy, type TransactionMode } from "../ledger-database.ts";
import type { LedgerQueries, LedgerTables } from "../tables.ts";
import {
  assertSameFile,
  assertStill,
  type FileIdentity,
  findFile,
  identify,
  prepareFile,
  removeEmptyFile,
  type StillFile,
} from "./ledger-file.ts";
import { connect, connectToRead, disconnect, writeFirstPage } from "./sqlite-connection.ts";
import { LedgerSqliteDialect } from "./sqlite-dialect.ts";
import { explainFailure, isBusy } from "./sqlite-failure.ts";

/** How long a ledger that others keep locked is tried, milliseconds. */
const busyTimeoutMs = 10_000;

/** Rows that are handed over at once: as many as have about so many characters, of which a text of SQLite's may have a billion. */
const scanRows = { first: 1_000, most: 8_000 };
const scanCharacters = 2_000_000;

/** Opens the SQLite file at `location`, an absolute path; makes it when there is none. Rejects with a LedgerError. */
export async function openSqlite(options: {
  readonly location: string;
  readonly clock: Clock;
}): Promise<LedgerDatabase> {
  const { location, clock } = options;
  let isNew = false;
  try {
    isNew = await prepareFile(location, { clock, fill: writeFirstPage });
    // Before it is opened: a file that is put in its place in between is then refused, and never written to unnoticed.
    const file = identify(location);
    const database = await retryWhileBusyWith(clock, async () => connect(location));
    return new SqliteLedgerDatabase({ database, location, clock, file, isNew });
  } catch (error) {
    if (isNew) removeEmptyFile(location);
    throw explainFailure(error, location);
  }
}

/**
 * Opens the SQLite file at `location` to read it; `undefined` when there is none. Nothing is changed, also where this
 * user may: the settings of the file are those of its writer. Rejects with a LedgerError.
 */
export async function openSqliteToRead(options: {
  readonly location: string;
  readonly clock: Clock;
}): Promise<LedgerDatabase | undefined> {
  const { location, clock } = options;
  try {
    if (!(await findFile(location, clock))) return undefined;
    const file = identify(location);
    const opened = await retryWhileBusyWith(clock, async () => connectToRead(location, file));
    return new SqliteLedgerDatabase({ ...opened, location, clock, file });
  } catch (error) {
    throw explainFailure(error, location);
  }
}

function retryWhileBusyWith<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  return retryWhileBusy({ clock, busyTimeoutMs, passes: isBusy }, work);
}

class SqliteLedgerDatabase implements LedgerDatabase {
  readonly location: string;
  readonly wallClock = sql<number>`cast(unixepoch('subsec') * 1000 as integer)`;
  readonly #queries: LedgerQueries;
  readonly #database: Database.Database;
  readonly #clock: Clock;
  readonly #file: FileIdentity | undefined;
  readonly #still: StillFile | undefined;
  readonly #isNew: boolean;

  constructor(opened: {
    readonly database: Database.Database;
    readonly location: string;
    readonly clock: Clock;
    readonly file: FileIdentity | undefined;
    readonly still?: StillFile | undefined;
    readonly isNew?: boolean;
  }) {
    const { database, location, clock, file, still, isNew = false } = opened;
    this.location = location;
    this.#queries = new Kysely<LedgerTables>({ dialect: new LedgerSqliteDialect(database) });
    this.#database = database;
    this.#clock = clock;
    this.#file = file;
    this.#still = still;
    this.#isNew = isNew;
  }

  async transaction<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>): Promise<T> {
    const attempt = () => this.#begin(mode).execute(this.#checked(mode, work));
    try {
      const result = await retryWhileBusyWith(this.#clock, attempt);
      if (this.#still !== undefined) assertStill(this.location, this.#still);
      return result;
    } catch (error) {
      throw explainFailure(error, this.location);
    }
  }

  async scan(
    queries: LedgerQueries,
    table: string,
    columns: readonly string[],
    take: (rows: readonly (readonly unknown[])[]) => void,
  ): Promise<void> {
    const values = sql.join(columns.map((column) => sql.ref(column)));
    const pageAfter = async (rowid: number, limit: number) => {
      // libsql hands over one long text several times faster than a thousand rows.
      const page = sql<{ last: number | null; rows: string }>`
        select max(rowid) as last, json_group_array(json_array(${values})) as rows
        from (select rowid, * from ${sql.table(table)} where rowid > ${rowid} order by rowid limit ${limit})`;
      return (await page.execute(queries)).rows[0];
    };
    let limit = scanRows.first;
    let page = await pageAfter(0, limit);
    while (page !== undefined && page.last !== null) {
      take(JSON.parse(page.rows));
      limit = Math.ceil(Math.min(scanRows.most, limit * (scanCharacters / page.rows.length)));
      page = await pageAfter(page.last, limit);
    }
  }

  monotonicClock(): number {
    return Number(process.hrtime.bigint() / 1_000_000n);
  }

  async hasLedger(queries: LedgerQueries): Promise<boolean> {
    const found = sql`select 1 from sqlite_schema where type = 'table' and name = 'schema_migrations'`;
    return (await found.execute(queries)).rows.length > 0;
  }

  async prepare(): Promise<void> {
    // The file is there since it was opened.
  }

  async close(): Promise<void> {
    await this.#queries.destroy();
    disconnect(this.#database);
    if (this.#isNew) removeEmptyFile(this.location);
  }

  /** A file that was unlinked still takes commits, and nobody ever reads them: checked last, just before the commit. */
  #checked<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>) {
    if (mode === "read") return work;
    return async (queries: LedgerQueries): Promise<T> => {
      const result = await work(queries);
      assertSameFile(this.location, this.#file);
      return result;
    };
  }

  #begin(mode: TransactionMode) {
    const builder = this.#queries.transaction();
    switch (mode) {
      case "read":
        return builder.setAccessMode("read only");
      case "write":
        return builder;
      case "unsynced":
        return builder.setIsolationLevel("read uncommitted");
      case "exclusive":
        return builder.setIsolationLevel("serializable");
    }
  }
}
