import {
  type CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from "kysely";
import { LedgerError } from "../ledger-error.ts";
import type { Session } from "./sqlite-session.ts";

/** Kysely's SQLite dialect over a {@link Session}. Who opened that closes it. */
export class LedgerSqliteDialect implements Dialect {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  createDriver(): Driver {
    return new SessionDriver(this.#session);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): SqliteAdapter {
    return new SqliteAdapter();
  }

  createIntrospector(queries: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(queries);
  }
}

/** Who wants the session while another has it waits here. */
class SessionDriver implements Driver {
  readonly #session: Session;
  readonly #connection: DatabaseConnection;
  /** Ends when whoever asked last has released the session. */
  #lastRelease: Promise<void> = Promise.resolve();
  #release: () => void = () => {};

  constructor(session: Session) {
    this.#session = session;
    this.#connection = new SessionConnection(session);
  }

  async init(): Promise<void> {
    // The session was opened before.
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#lastRelease;
    let release = () => {};
    this.#lastRelease = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    this.#release = release;
    return this.#connection;
  }

  async beginTransaction(_: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    await this.#session.begin(settings);
  }

  async commitTransaction(): Promise<void> {
    await this.#session.commit();
  }

  async rollbackTransaction(): Promise<void> {
    await this.#session.rollback();
  }

  async releaseConnection(): Promise<void> {
    this.#release();
  }

  async destroy(): Promise<void> {
    // The session is closed by who opened it.
  }
}

class SessionConnection implements DatabaseConnection {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return this.#session.query(sql, parameters);
  }

  // biome-ignore lint/correctness/useYield: part of Kysely's interface, and the ledger reads no table bit by bit.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new LedgerError("ledger-failed", "The ledger's tables are read whole.");
  }
}
