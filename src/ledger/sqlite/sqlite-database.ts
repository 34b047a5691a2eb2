import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type DatabaseConnection,
  type Driver,
  Kysely,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
  sql,
  type TransactionSettings,
} from "kysely";
import type Database from "libsql";
import type { Clock } from "../../model/ports.ts";
import { wait } from "../../model/wait.ts";
import { type LedgerDatabase, retryWhileBusy, storable, type TransactionMode } from "../ledger-database.ts";
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
import { connect, connectToRead, disconnect, rollBack, writeFirstPage } from "./sqlite-connection.ts";
import { explainFailure, isBusy } from "./sqlite-failure.ts";

/** How long a ledger that others keep locked is tried, milliseconds. */
const busyTimeoutMs = 10_000;

/** How long a checkpoint waits for the readers of other processes. */
const checkpointMs = 1_000;

/** Rows that one page of a scan holds. */
const scanRows = 2_000;

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

/** How a checkpoint ended: whether another process was making one, and the pages of the -wal file, in all and in the file. */
interface Checkpoint {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
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

  async now(): Promise<number> {
    return Math.floor(this.#clock.now());
  }

  async scan(
    queries: LedgerQueries,
    table: string,
    columns: readonly string[],
    take: (rows: readonly (readonly unknown[])[]) => void,
  ): Promise<void> {
    const values = sql.join(columns.map((column) => sql.ref(column)));
    const pageAfter = async (rowid: number) => {
      // libsql hands over one long text several times faster than a thousand rows.
      const page = sql<{ last: number | null; rows: string }>`
        select max(rowid) as last, json_group_array(json_array(${values})) as rows
        from (select rowid, * from ${sql.table(table)} where rowid > ${rowid} order by rowid limit ${scanRows})`;
      return (await page.execute(queries)).rows[0];
    };
    let page = await pageAfter(0);
    while (page !== undefined && page.last !== null) {
      take(JSON.parse(page.rows));
      // Manifests are parsed at the same time.
      await nextTurn();
      page = await pageAfter(page.last);
    }
  }

  monotonicClock(): number {
    return Number(process.hrtime.bigint() / 1_000_000n);
  }

  async checkpoint(): Promise<void> {
    const until = this.#clock.monotonic() + checkpointMs;
    const isComplete = async () => {
      const checkpoint = sql<Checkpoint>`pragma wal_checkpoint(passive)`;
      const [result] = (await checkpoint.execute(this.#queries)).rows;
      return result === undefined || (result.busy === 0 && result.checkpointed === result.log);
    };
    // The -wal file is as durable; a later checkpoint moves it.
    while (!(await isComplete().catch(() => true)) && this.#clock.monotonic() < until) await wait(10);
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

  /** A file that was unlinked still takes commits, which are lost: checked last, just before the commit. */
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

/** Kysely's SQLite dialect over libsql, with the transactions of a ledger. The caller closes the connection. */
class LedgerSqliteDialect extends SqliteDialect {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    super({ database });
    this.#database = database;
  }

  override createDriver(): Driver {
    return new LedgerSqliteDriver(this.#database);
  }
}

/**
 * Transactions begin and end through `exec`: a prepared statement that libsql failed with SQLITE_BUSY stays unfinished
 * until it is collected as garbage, and keeps its connection at an old state of the file.
 */
class LedgerSqliteDriver extends SqliteDriver {
  readonly #database: Database.Database;
  #synchronous = "full";

  constructor(database: Database.Database) {
    super({ database: new PreparedStatements(database) });
    this.#database = database;
  }

  /** A transaction takes its lock, or its snapshot, when it begins: there a busy file may be tried again. */
  override async beginTransaction(
    _connection: DatabaseConnection,
    { accessMode, isolationLevel }: TransactionSettings = {},
  ): Promise<void> {
    this.#sync(isolationLevel === "read uncommitted" ? "normal" : "full");
    if (accessMode !== "read only") {
      // Taking the lock first: a transaction that reads before it writes could find its snapshot outdated, and fail.
      this.#database.exec(isolationLevel === "serializable" ? "begin exclusive" : "begin immediate");
      return;
    }
    this.#database.exec("begin deferred");
    try {
      this.#database.exec("select 1 from sqlite_schema limit 1");
    } catch (error) {
      this.#database.exec("rollback");
      throw error;
    }
  }

  override async commitTransaction(): Promise<void> {
    this.#database.exec("commit");
  }

  override async rollbackTransaction(): Promise<void> {
    rollBack(this.#database);
  }

  /** In WAL mode, a commit with `normal` survives the end of the process, and not always a power failure. */
  #sync(level: "normal" | "full"): void {
    if (level === this.#synchronous) return;
    this.#database.exec(`pragma synchronous = ${level}`);
    this.#synchronous = level;
  }
}

/** More than the texts of all queries of the ledger. */
const maxStatements = 200;

/** What Kysely needs of libsql: each text is prepared once, and values that cannot be stored are refused. */
class PreparedStatements implements SqliteDatabase {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  prepare(text: string): SqliteStatement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(text);
    const checked: SqliteStatement = {
      reader: statement.reader,
      all: (values) => statement.all(values.map(storable)),
      run: (values) => statement.run(values.map(storable)),
      iterate: (values) => statement.iterate(values.map(storable)),
    };
    if (this.#statements.size >= maxStatements) this.#statements.clear();
    this.#statements.set(text, checked);
    return checked;
  }

  close(): void {
    this.#statements.clear();
  }
}
