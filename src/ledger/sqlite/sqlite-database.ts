import { Kysely, sql } from "kysely";
import type { Clock } from "../../model/ports.ts";
import type { LedgerDatabase, TakeRows, TransactionMode } from "../ledger-database.ts";
import { retryWhileBusy } from "../retry-while-busy.ts";
import type { LedgerQueries, LedgerTables } from "../schema.ts";
import { runSteps, type Step } from "../step.ts";
import { CommitThread, type CommitThreadOptions } from "./commit-thread.ts";
import {
  assertSameFile,
  assertStill,
  type FileIdentity,
  findFile,
  identify,
  type OpenedFile,
  prepareFile,
  type StillFile,
  sizeOf,
} from "./ledger-file.ts";
import { ReadingThread, type ReadingThreadOptions } from "./reading-thread.ts";
import { connect, connectToRead } from "./sqlite-connection.ts";
import { LedgerSqliteDialect } from "./sqlite-dialect.ts";
import { explainFailure, isBusy } from "./sqlite-failure.ts";
import { type Session, SqliteSession } from "./sqlite-session.ts";

/** How long a ledger that others keep locked is tried, milliseconds. */
const busyTimeoutMs = 10_000;

/** Rows that are handed over at once: as many as have about so many characters, of which a text of SQLite's may have a billion. */
const scanRows = { first: 1_000, most: 8_000 };
const scanCharacters = 2_000_000;

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
    const session = await retryWhileBusyWith(clock, async () => new SqliteSession(connect(location)));
    return new SqliteLedgerDatabase(session, { location, clock, file, commitThread });
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
  readonly readingThread?: ReadingThreadOptions | undefined;
}): Promise<LedgerDatabase | undefined> {
  const { location, clock, readingThread } = options;
  try {
    if (!(await findFile(location, clock))) return undefined;
    const file = identify(location);
    const { session, still } = await retryWhileBusyWith(clock, () =>
      openSession({ location, file }, readingThread),
    );
    return new SqliteLedgerDatabase(session, { location, clock, file, still });
  } catch (error) {
    throw explainFailure(error, location);
  }
}

interface ReadingSession {
  readonly session: Session;
  readonly still: StillFile | undefined;
}

/** On a thread of its own where that pays and there is one. */
async function openSession(
  opening: OpenedFile,
  thread: ReadingThreadOptions | undefined,
): Promise<ReadingSession> {
  const { location, file } = opening;
  if (thread !== undefined && sizeOf(location) >= thread.leastBytes) {
    const session = new ReadingThread(thread.script, opening);
    const opened = await session.open();
    if (opened !== undefined) return { session, ...opened };
  }
  const { database, still } = connectToRead(location, file);
  return { session: new SqliteSession(database), still };
}

function retryWhileBusyWith<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  return retryWhileBusy({ clock, busyTimeoutMs, passes: isBusy }, work);
}

class SqliteLedgerDatabase implements LedgerDatabase {
  readonly location: string;
  readonly queries: LedgerQueries;
  readonly wallClock = sql<number>`cast(unixepoch('subsec') * 1000 as integer)`;
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #file: FileIdentity | undefined;
  readonly #still: StillFile | undefined;
  readonly #threadOptions: CommitThreadOptions | undefined;
  #thread: CommitThread | undefined;
  /** Ends with the last writing transaction of this store. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(
    session: Session,
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
    this.queries = new Kysely<LedgerTables>({ dialect: new LedgerSqliteDialect(session) });
    this.#session = session;
    this.#clock = clock;
    this.#file = file;
    this.#still = still;
    this.#threadOptions = commitThread;
  }

  transaction<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>): Promise<T> {
    const attempt = () => this.#begin(mode).execute(this.#checked(mode, work));
    const carryOut = async () => {
      try {
        const result = await retryWhileBusyWith(this.#clock, attempt);
        if (this.#still !== undefined) assertStill(this.location, this.#still);
        return result;
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
    const pageAfter = async (rowid: number, limit: number) => {
      // libsql hands over one long text several times faster than a thousand rows.
      const page = sql<{ last: number | null; rows: string }>`
        select max(rowid) as last, json_group_array(json_array(${values})) as rows
        from (select rowid, * from ${sql.table(table)} where rowid > ${rowid} order by rowid limit ${limit})`;
      return (await page.execute(queries)).rows[0];
    };
    let limit = scanRows.first;
    let next = pageAfter(0, limit);
    for (;;) {
      const page = await next;
      if (page === undefined || page.last === null) return;
      limit = Math.ceil(Math.min(scanRows.most, limit * (scanCharacters / page.rows.length)));
      next = pageAfter(page.last, limit);
      // The next page may come from another thread meanwhile; whoever awaits it is told of its failure.
      next.catch(() => {});
      take(JSON.parse(page.rows));
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
    await this.#thread?.close();
    await this.queries.destroy();
    await this.#session.close();
  }

  /** A file that was unlinked still takes commits, and nobody ever reads them: looked at last, just before the commit. */
  #checked<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>) {
    if (mode === "read") return work;
    return async (queries: LedgerQueries): Promise<T> => {
      const result = await work(queries);
      assertSameFile(this.location, this.#file);
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
    return retryWhileBusyWith(this.#clock, () => thread.commit(make()));
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
