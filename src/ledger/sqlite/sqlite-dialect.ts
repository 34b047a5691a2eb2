import {
  type DatabaseConnection,
  type Driver,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
  type TransactionSettings,
} from "kysely";
import type Database from "libsql";
import { storable } from "../ledger-database.ts";
import { rollBack } from "./sqlite-connection.ts";

/** Kysely's SQLite dialect over libsql, with the transactions of a ledger. The caller closes the connection. */
export class LedgerSqliteDialect extends SqliteDialect {
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
