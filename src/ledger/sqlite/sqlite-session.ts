import type { QueryResult, TransactionSettings } from "kysely";
import type Database from "libsql";
import { storable } from "../storable.ts";
import { disconnect, rollBack } from "./sqlite-connection.ts";

/** One connection to a SQLite file, on this thread or on another one. One statement at a time, and one transaction. */
export interface Session {
  /** A transaction takes its lock, or its snapshot, when it begins: there a busy file may be tried again. */
  begin(settings: TransactionSettings): Promise<void> | void;
  commit(): Promise<void> | void;
  rollback(): Promise<void> | void;
  query<Row>(text: string, parameters: readonly unknown[]): Promise<QueryResult<Row>> | QueryResult<Row>;
  close(): Promise<void> | void;
}

/** More than the texts of all queries of the ledger. */
const maxStatements = 200;

/**
 * A session on this thread. Statements are prepared once, and values that cannot be stored are refused. What begins and
 * ends a transaction runs through `exec`: a prepared statement that libsql failed with SQLITE_BUSY stays unfinished until
 * it is collected as garbage, and keeps its connection at an old state of the file.
 */
export class SqliteSession implements Session {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  begin({ accessMode, isolationLevel }: TransactionSettings): void {
    if (accessMode !== "read only") {
      // Taking the lock first: one that reads before it writes could find its snapshot overtaken, and fail.
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

  commit(): void {
    this.#database.exec("commit");
  }

  rollback(): void {
    rollBack(this.#database);
  }

  query<Row>(text: string, parameters: readonly unknown[]): QueryResult<Row> {
    const statement = this.#prepare(text);
    const values = parameters.map(storable);
    if (statement.reader) return { rows: statement.all(values) as Row[] };
    return { rows: [], numAffectedRows: BigInt(statement.run(values).changes) };
  }

  close(): void {
    this.#statements.clear();
    disconnect(this.#database);
  }

  #prepare(text: string): Database.Statement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(text);
    if (this.#statements.size >= maxStatements) this.#statements.clear();
    this.#statements.set(text, statement);
    return statement;
  }
}
