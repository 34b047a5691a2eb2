import { randomUUID } from "node:crypto";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  type QueryResult,
  type TransactionSettings,
} from "kysely";
import type pg from "pg";
import { storable } from "../ledger-database.ts";
import { LedgerError } from "../ledger-error.ts";
import { isRefusal, keepsConnection } from "./postgres-failure.ts";

interface DialectOptions {
  readonly pool: pg.Pool;
  readonly schema: string;
  /** How long a connection may take, milliseconds; `undefined`: as long as the pool allows. */
  readonly connectMs: () => number | undefined;
}

/**
 * Kysely's PostgreSQL dialect over `pg`, with the differences that a ledger needs: a transaction makes its settings and
 * takes its lock when it begins, leaves a mark when it commits, a commit without a response is distinguished from one that
 * failed, and values that cannot be stored are refused.
 *
 * Nothing outlives a transaction: no setting, no lock, no named statement. So a pooler may give each transaction
 * another session.
 */
export class LedgerPostgresDialect extends PostgresDialect {
  readonly #options: DialectOptions;

  constructor(options: DialectOptions) {
    super(options);
    this.#options = options;
  }

  override createDriver(): Driver {
    return new LedgerPostgresDriver(this.#options);
  }
}

/**
 * What a writing transaction leaves in the table `commits`: one row a connection, with the number of its last commit. The
 * server's own transaction ids cannot show that a commit is stored: after a crash they are given out again.
 */
export interface CommitMark {
  /** A UUID that draftsync makes. */
  readonly connection: string;
  /** From 1. */
  readonly number: number;
}

/** Makes the table of {@link CommitMark}s. */
export const createCommits = [
  "create table commits (connection text primary key, number bigint not null, at timestamptz not null)",
  "create index commits_by_time on commits (at)",
];

/** Thrown when a transaction was to be committed and no response came. It is stored if `mark` is in the table `commits`. */
export class CommitInDoubt extends Error {
  override readonly name = "CommitInDoubt";
  readonly mark: CommitMark;

  constructor(mark: CommitMark, cause: unknown) {
    super("the connection was lost while a transaction was being committed", { cause });
    this.mark = mark;
  }
}

/** How long a statement waits for a lock before it is tried again, milliseconds. */
const lockTimeout = 1_000;

/** How long the server works on one statement, milliseconds. */
const statementTimeout = { write: 10_000, read: 30_000 };

/** How long the answer to a statement that writes is waited for: longer than the server works on it, milliseconds. */
const answerTimeout = 12_000;

/** How long the server keeps the locks of a client that has gone silent, milliseconds; and the view of a reader. */
const silence = { write: 5_000, read: 60_000 };

class LedgerPostgresDriver implements Driver {
  readonly #pool: pg.Pool;
  readonly #schema: string;
  readonly #connectMs: () => number | undefined;
  /** The last mark of each connection of the pool. */
  readonly #marks = new WeakMap<pg.PoolClient, CommitMark>();

  constructor({ pool, schema, connectMs }: DialectOptions) {
    this.#pool = pool;
    this.#schema = schema;
    this.#connectMs = connectMs;
  }

  async init(): Promise<void> {
    // The pool connects when it is first asked to.
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return new LedgerPostgresConnection(await connectWithin(this.#pool, this.#connectMs()));
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const own = ownOf(connection);
    const writes = settings.accessMode !== "read only";
    own.answerTimeout = writes ? answerTimeout : undefined;
    try {
      const results = await own.script(writes ? this.#beginWriting() : this.#beginReading());
      own.writes = writes;
      if (writes) refuseUnsynced(textOf(results.at(-1), "synchronous_commit"));
    } catch (error) {
      await this.rollbackTransaction(connection);
      throw error;
    }
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const own = ownOf(connection);
    if (!own.writes) return void (await own.script("commit"));
    const { connection: id = randomUUID(), number = 0 } = this.#marks.get(own.client) ?? {};
    const mark = { connection: id, number: number + 1 };
    this.#marks.set(own.client, mark);
    // On its own: a server that refuses it has committed nothing.
    await own.script(leaveMark(mark));
    try {
      const [result] = await own.script("commit");
      // PostgreSQL answers so to the commit of a transaction in which a statement had failed.
      if (result?.command !== "COMMIT") throw new LedgerError("ledger-failed", "The change was rolled back.");
    } catch (error) {
      if (error instanceof LedgerError || isRefusal(error)) throw error;
      own.lost = true;
      throw new CommitInDoubt(mark, error);
    }
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const own = ownOf(connection);
    if (own.lost) return;
    try {
      await own.script("rollback");
    } catch {
      // The connection is thrown away, and the server rolls back what it had begun.
      own.lost = true;
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    ownOf(connection).release();
  }

  async destroy(): Promise<void> {
    await this.#pool.end();
  }

  /** One state throughout: https://www.postgresql.org/docs/current/transaction-iso.html#XACT-REPEATABLE-READ */
  #beginReading(): string {
    return `begin isolation level repeatable read read only; ${this.#settings("read")}`;
  }

  /**
   * One writer at a time, as in SQLite: the holder of the lock sees all that was committed before. The lock ends with
   * its transaction. `remote_apply` is the one level of durability above `on`
   * (https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT).
   */
  #beginWriting(): string {
    return `begin isolation level read committed; ${this.#settings("write")};
      select set_config('synchronous_commit', 'on', true)
      where current_setting('synchronous_commit') not in ('on', 'remote_apply');
      select pg_advisory_xact_lock(hashtextextended('draftsync ledger ${this.#schema}', 0));
      select current_setting('synchronous_commit') as synchronous_commit`;
  }

  #settings(mode: "read" | "write"): string {
    return `select set_config('search_path', '"${this.#schema}"', true),
      set_config('lock_timeout', '${lockTimeout}', true),
      set_config('statement_timeout', '${statementTimeout[mode]}', true),
      set_config('idle_in_transaction_session_timeout', '${silence[mode]}', true)`;
  }
}

class LedgerPostgresConnection implements DatabaseConnection {
  /** Whether the transaction under way may write. */
  writes = false;
  /** How long an answer is waited for, milliseconds; `undefined`: as long as the pool allows. */
  answerTimeout: number | undefined;
  /** Whether the connection is unusable. */
  lost = false;
  readonly client: pg.PoolClient;
  readonly #onError = () => {
    this.lost = true;
  };

  constructor(client: pg.PoolClient) {
    this.client = client;
    client.on("error", this.#onError);
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const values = parameters.map(storable);
    const { rows, rowCount } = await this.#watch(
      this.client.query<Row & pg.QueryResultRow>({ ...this.#limit(), text: sql, values }),
    );
    return { rows, ...(rowCount === null ? {} : { numAffectedRows: BigInt(rowCount) }) };
  }

  /** Statements without parameters, in one round trip. */
  async script(text: string): Promise<readonly pg.QueryResult[]> {
    const results: pg.QueryResult | pg.QueryResult[] = await this.#watch(
      this.client.query({ ...this.#limit(), text }),
    );
    return Array.isArray(results) ? results : [results];
  }

  release(): void {
    this.client.off("error", this.#onError);
    this.client.release(this.lost);
  }

  // biome-ignore lint/correctness/useYield: part of Kysely's interface, and the ledger reads no table bit by bit.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new LedgerError("ledger-failed", "The ledger's tables are read whole.");
  }

  #limit(): { readonly query_timeout?: number } {
    return this.answerTimeout === undefined ? {} : { query_timeout: this.answerTimeout };
  }

  async #watch<T>(query: Promise<T>): Promise<T> {
    try {
      return await query;
    } catch (error) {
      if (!keepsConnection(error)) this.lost = true;
      throw error;
    }
  }
}

/** The first mark of a connection removes those of connections that ended long ago. */
function leaveMark({ connection, number }: CommitMark): string {
  const old = "delete from commits where at < clock_timestamp() - interval '1 day'; ";
  return `${number === 1 ? old : ""}insert into commits values ('${connection}', ${number}, clock_timestamp())
    on conflict (connection) do update set number = excluded.number, at = excluded.at`;
}

/** Rejects when no connection is there in time; one that comes later goes back to the pool. */
async function connectWithin(pool: pg.Pool, ms: number | undefined): Promise<pg.PoolClient> {
  const connecting = pool.connect();
  if (ms === undefined) return connecting;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      connecting.then(
        (client) => client.release(),
        () => {},
      );
      reject(new Error(`timeout: no connection within ${Math.round(ms)} ms`));
    }, ms);
  });
  try {
    return await Promise.race([connecting, late]);
  } finally {
    clearTimeout(timer);
  }
}

function ownOf(connection: DatabaseConnection): LedgerPostgresConnection {
  if (connection instanceof LedgerPostgresConnection) return connection;
  throw new TypeError("the connection is another driver's");
}

function textOf(result: pg.QueryResult | undefined, column: string): string {
  const value: unknown = result?.rows[0]?.[column];
  if (typeof value === "string") return value;
  throw new LedgerError("ledger-failed", `The ledger's database did not say its ${column}.`);
}

function refuseUnsynced(level: string): void {
  if (level === "on" || level === "remote_apply") return;
  throw new LedgerError(
    "ledger-unreadable",
    `The ledger cannot be written safely: PostgreSQL's synchronous_commit is ${level} and must be on.`,
    { hint: "Let synchronous_commit be set by this user, or set it to on for the database." },
  );
}
