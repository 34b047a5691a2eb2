import { pathToFileURL } from "node:url";
import { Kysely, sql } from "kysely";
import Database from "libsql";
import type { Clock } from "../../model/ports.ts";
import type { LedgerDatabase, TakeRows, TransactionMode } from "../ledger-database.ts";
import { LedgerError } from "../ledger-error.ts";
import { patiently } from "../patience.ts";
import type { LedgerQueries, LedgerTables } from "../schema.ts";
import { runSteps, type Step } from "../step.ts";
import { CommitThread, type CommitThreadOptions } from "./commit-thread.ts";
import {
  assertSameFile,
  assertStill,
  describeStill,
  type FileIdentity,
  findFile,
  identify,
  isWritable,
  prepareFile,
  type StillFile,
} from "./ledger-file.ts";
import { applyPragmas, busyTimeout } from "./pragmas.ts";
import { LedgerSqliteDialect } from "./sqlite-dialect.ts";
import { explainFailure, isBusy, isForbidden } from "./sqlite-failure.ts";

/** How long a ledger that others keep locked is tried, milliseconds. */
const patience = 10_000;

/** Rows that are handed over at once: few enough for any text they may hold. */
const scanPage = 1_000;

/** Opens the SQLite file at `location`, an absolute path; makes it when there is none. Rejects with a LedgerError. */
export async function openSqlite(options: {
  readonly location: string;
  readonly clock: Clock;
  readonly commitThread?: CommitThreadOptions | undefined;
}): Promise<LedgerDatabase> {
  const { location, clock, commitThread } = options;
  try {
    await prepareFile(location, clock);
    // Before it is opened: a file that is put in its place in between is then refused, and never written to unnoticed.
    const file = identify(location);
    const database = await patientlyWith(clock, () => connect(location));
    return new SqliteLedgerDatabase(database, { location, clock, file, commitThread });
  } catch (error) {
    throw explainFailure(error, location);
  }
}

/**
 * Opens the SQLite file at `location` to read it; `undefined` when there is none. Nothing is changed, also where this
 * user may: the settings of the file are those of who wrote it. Rejects with a LedgerError.
 */
export async function openSqliteToRead(options: {
  readonly location: string;
  readonly clock: Clock;
}): Promise<LedgerDatabase | undefined> {
  const { location, clock } = options;
  try {
    if (!(await findFile(location, clock))) return undefined;
    const file = identify(location);
    const { database, still } = await patientlyWith(clock, async () => connectToRead(location));
    return new SqliteLedgerDatabase(database, { location, clock, file, still });
  } catch (error) {
    throw explainFailure(error, location);
  }
}

interface ReadingConnection {
  readonly database: Database.Database;
  /** Set when SQLite does not look for changes by itself. */
  readonly still: StillFile | undefined;
}

/**
 * Who may not write a file that nobody has open reads it as one that nobody can write to: the two files beside it could
 * not be made, or would belong to the wrong user and keep the right one out.
 */
function connectToRead(location: string): ReadingConnection {
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

async function connect(location: string): Promise<Database.Database> {
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

/** Before anything is changed in it: the database of another program is not for us. */
function refuseForeign(database: Database.Database, location: string): void {
  const names = database.prepare("select name from sqlite_schema where type = 'table'").raw().all().flat();
  if (names.length === 0 || names.includes("schema_migrations")) return;
  throw new LedgerError("ledger-unreadable", `The ledger ${location} is a database of another program.`, {
    hint: "Set `state` in draftsync.yaml (or DRAFTSYNC_STATE) to another path.",
  });
}

function patientlyWith<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  return patiently({ clock, patience, passes: isBusy }, work);
}

class SqliteLedgerDatabase implements LedgerDatabase {
  readonly location: string;
  readonly queries: LedgerQueries;
  readonly #database: Database.Database;
  readonly #clock: Clock;
  readonly #file: FileIdentity | undefined;
  readonly #still: StillFile | undefined;
  readonly #threadOptions: CommitThreadOptions | undefined;
  #thread: CommitThread | undefined;
  /** Ends with the last writing transaction of this store. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(
    database: Database.Database,
    opened: {
      readonly location: string;
      readonly clock: Clock;
      readonly file: FileIdentity | undefined;
      readonly still?: StillFile | undefined;
      readonly commitThread?: CommitThreadOptions | undefined;
    },
  ) {
    const { location, clock, file, still, commitThread } = opened;
    this.location = location;
    this.queries = new Kysely<LedgerTables>({ dialect: new LedgerSqliteDialect(database) });
    this.#database = database;
    this.#clock = clock;
    this.#file = file;
    this.#still = still;
    this.#threadOptions = commitThread;
  }

  transaction<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>): Promise<T> {
    const attempt = () => this.#begin(mode).execute(this.#checked(mode, work));
    const carryOut = async () => {
      try {
        return await patientlyWith(this.#clock, attempt);
      } catch (error) {
        throw explainFailure(error, this.location);
      }
    };
    return mode === "read" ? carryOut() : this.#inTurn(carryOut);
  }

  async commit(make: () => readonly Step[]): Promise<void> {
    const thread = this.#threadFor(make);
    if (thread !== undefined && (await this.#inTurn(() => this.#commitOn(thread, make)))) return;
    await this.transaction("write", (queries) => runSteps(queries, make()));
  }

  async scan<Table extends keyof LedgerTables>(
    queries: LedgerQueries,
    table: Table,
    columns: readonly (keyof LedgerTables[Table] & string)[],
    take: TakeRows,
  ): Promise<void> {
    const values = sql.join(columns.map((column) => sql.ref(column)));
    for (let after = 0; ; ) {
      // libsql hands over one long text several times faster than a thousand rows.
      const page = sql<{ last: number | null; rows: string }>`
        select max(rowid) as last, json_group_array(json_array(${values})) as rows
        from (select rowid, * from ${sql.table(table)} where rowid > ${after} order by rowid limit ${scanPage})`;
      const [found] = (await page.execute(queries)).rows;
      if (found === undefined || found.last === null) return;
      take(JSON.parse(found.rows));
      after = found.last;
    }
  }

  /** All are on one machine: its monotonic clock, which begins anew when it does. */
  async sharedClock(): Promise<number> {
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
    await this.#thread?.close();
    try {
      // The file is whole by itself then, and can be copied. libsql keeps its handles until the statements are
      // collected as garbage, so SQLite does not do this by itself.
      this.#database.exec("pragma wal_checkpoint(truncate)");
    } catch {
      // Someone is reading, or the disk is full: what is in the -wal file is as durable, and is taken in later.
    }
    await this.queries.destroy();
    this.#database.close();
  }

  /**
   * A file that was unlinked still takes commits, and nobody ever reads them: looked at last, just before the commit. So
   * is one that was read as if nobody could write to it.
   */
  #checked<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>) {
    const still = this.#still;
    if (mode === "read" && still === undefined) return work;
    return async (queries: LedgerQueries): Promise<T> => {
      const result = await work(queries);
      if (still === undefined) assertSameFile(this.location, this.#file);
      else assertStill(this.location, still);
      return result;
    };
  }

  /** One thread may wait for the disk while this one goes on; from the first group on for which that pays. */
  #threadFor(make: () => readonly Step[]): CommitThread | undefined {
    const options = this.#threadOptions;
    if (this.#thread === undefined && options !== undefined && make().length >= options.crowd) {
      this.#thread = new CommitThread(options.script, { location: this.location, file: this.#file });
    }
    return this.#thread;
  }

  #commitOn(thread: CommitThread, make: () => readonly Step[]): Promise<boolean> {
    const passes = (error: unknown) => error instanceof LedgerError && error.code === "ledger-busy";
    return patiently({ clock: this.#clock, patience, passes }, () => thread.commit(make()));
  }

  /** The two connections of this store wait here for each other, and not in SQLite, where this thread would stand still. */
  #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#lastWrite.then(write);
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  #begin(mode: TransactionMode) {
    const builder = this.queries.transaction();
    switch (mode) {
      case "read":
        return builder.setAccessMode("read only");
      case "write":
        return builder;
      case "exclusive":
        return builder.setIsolationLevel("serializable");
    }
  }
}
