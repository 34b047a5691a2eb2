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
import { storable } from "../storable.ts";

/**
 * Kysely's SQLite dialect over libsql, with the differences that a ledger needs: a transaction takes its lock when
 * it begins, statements are prepared once, and values that cannot be stored are refused.
 */
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
 * Runs what begins and ends a transaction through `exec`: a prepared statement that libsql failed with SQLITE_BUSY
 * stays unfinished until it is collected as garbage, and keeps its connection at an old state of the file.
 */
class LedgerSqliteDriver extends SqliteDriver {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    super({ database: new PreparedStatements(database) });
    this.#database = database;
  }

  override async beginTransaction(_: DatabaseConnection, settings: TransactionSettings = {}): Promise<void> {
    if (settings.accessMode === "read only") {
      this.#database.exec("begin deferred");
      try {
        // Takes the snapshot here, where a busy file may be tried again.
        this.#database.exec("select 1 from sqlite_schema limit 1");
      } catch (error) {
        this.#database.exec("rollback");
        throw error;
      }
      return;
    }
    // Taking the lock first: one that reads before it writes could find its snapshot overtaken, and fail.
    this.#database.exec(settings.isolationLevel === "serializable" ? "begin exclusive" : "begin immediate");
  }

  override async commitTransaction(): Promise<void> {
    this.#database.exec("commit");
  }

  override async rollbackTransaction(): Promise<void> {
    // A full disk and some other failures have rolled back already (https://www.sqlite.org/lang_transaction.html §3).
    if (this.#database.inTransaction) this.#database.exec("rollback");
  }
}

/** More than the texts of all queries of the ledger. */
const mostStatements = 200;

class PreparedStatements implements SqliteDatabase {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  prepare(text: string): SqliteStatement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = checked(this.#database.prepare(text));
    if (this.#statements.size >= mostStatements) this.#statements.clear();
    this.#statements.set(text, statement);
    return statement;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

function checked(statement: Database.Statement): SqliteStatement {
  const { reader } = statement;
  return {
    reader,
    all: (parameters) => statement.all(parameters.map(storable)),
    run: (parameters) => statement.run(parameters.map(storable)),
    iterate: (parameters) => statement.iterate(parameters.map(storable)),
  };
}
