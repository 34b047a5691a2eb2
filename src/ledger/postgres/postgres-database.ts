import type { Socket } from "node:net";
import { Kysely, sql } from "kysely";
import pg from "pg";
import { messageOf } from "../../model/errors.ts";
import type { Clock } from "../../model/ports.ts";
import { type LedgerDatabase, retryWhileBusy, type TransactionMode } from "../ledger-database.ts";
import { LedgerError } from "../ledger-error.ts";
import type { LedgerQueries, LedgerTables } from "../tables.ts";
import { AwakeClock, busyTimeoutMs, inDoubtTimeoutMs, Outage } from "./outage.ts";
import { openPool, trackSocket } from "./postgres-connection.ts";
import { CommitInDoubt, createCommits, LedgerPostgresDialect } from "./postgres-dialect.ts";
import { explainFailure, isBusy, isLost } from "./postgres-failure.ts";
import { type PostgresLocation, parsePostgresLocation } from "./postgres-location.ts";

/** Milliseconds; longer than the server's own bound on a statement. */
const queryTimeoutMs = 45_000;

/** PostgreSQL 13. */
const oldestVersion = 130_000;

/** OID of `int8` (pg_type.dat). Whole numbers beyond 2^53 - 1 were never stored, and are found when they are read. */
const int8 = 20;

/**
 * Opens the ledger at `location`, a `postgres://` or `postgresql://` URL: see `parsePostgresLocation`. The database
 * must be there; the schema is made with the first migration. Rejects with a LedgerError.
 */
export async function openPostgres(options: {
  readonly location: string;
  readonly clock: Clock;
  /** Called when the server does not answer, with how long it is waited for, milliseconds. */
  readonly onWaiting?: ((ms: number) => void) | undefined;
}): Promise<LedgerDatabase> {
  const location = parsePostgresLocation(options.location);
  const sockets = new Set<Socket>();
  const pool = openPool(location, {
    stream: () => trackSocket(sockets),
    application_name: "draftsync",
    max: 4,
    query_timeout: queryTimeoutMs,
    types: { getTypeParser: typeParser },
  });
  const { clock, onWaiting } = options;
  const database = new PostgresLedgerDatabase({ pool, sockets, location, clock, onWaiting });
  try {
    await database.refuseUnfit();
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

const typeParser: typeof pg.types.getTypeParser = (oid: number, format?: "text" | "binary") =>
  oid === int8 ? Number : pg.types.getTypeParser(oid, format);

class PostgresLedgerDatabase implements LedgerDatabase {
  readonly location: string;
  readonly wallClock = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  readonly #queries: LedgerQueries;
  readonly #schema: string;
  readonly #clock: AwakeClock;
  readonly #sockets: ReadonlySet<Socket>;
  readonly #outage: Outage;

  constructor(given: {
    readonly pool: pg.Pool;
    readonly sockets: ReadonlySet<Socket>;
    readonly location: PostgresLocation;
    readonly clock: Clock;
    readonly onWaiting: ((ms: number) => void) | undefined;
  }) {
    const { pool, sockets, location, onWaiting } = given;
    const clock = new AwakeClock(given.clock);
    const { shown, schema } = location;
    this.location = shown;
    this.#sockets = sockets;
    const outage = new Outage(clock, onWaiting);
    const connectMs = () => outage.connectMs();
    this.#queries = new Kysely<LedgerTables>({
      dialect: new LedgerPostgresDialect({ pool, schema, connectMs }),
    });
    this.#outage = outage;
    this.#schema = schema;
    this.#clock = clock;
  }

  /** Also finds out at once, without waiting for a server that is not there, whether it can be reached. */
  async refuseUnfit(): Promise<void> {
    const asked = sql<{ version: string; encoding: string }>`
      select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding`;
    const ask = () => this.#begin("read").execute(async (queries) => (await asked.execute(queries)).rows[0]);
    try {
      const found = await retryWhileBusy({ clock: this.#clock, busyTimeoutMs, passes: isBusy }, ask);
      if (Number(found?.version) < oldestVersion) throw this.#unfit("is older than PostgreSQL 13");
      if (found?.encoding !== "UTF8") throw this.#unfit(`has the encoding ${found?.encoding}, not UTF8`);
    } catch (error) {
      throw explainFailure(error, this.location);
    }
  }

  async transaction<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>): Promise<T> {
    const passes = (error: unknown) => isBusy(error) || isLost(error);
    try {
      const since = () => this.#outage.since;
      return await this.#clock.during(() =>
        retryWhileBusy({ clock: this.#clock, busyTimeoutMs, passes, since }, () => this.#attempt(mode, work)),
      );
    } catch (error) {
      throw explainFailure(error, this.location, mode);
    }
  }

  async now(queries: LedgerQueries): Promise<number> {
    const asked = sql<{ now: number }>`select ${this.wallClock} as now`;
    const [row] = (await asked.execute(queries)).rows;
    if (row === undefined) throw new TypeError("PostgreSQL returned no time");
    return row.now;
  }

  async scan(
    queries: LedgerQueries,
    table: string,
    columns: readonly string[],
    take: (rows: readonly (readonly unknown[])[]) => void,
  ): Promise<void> {
    const names = sql.join(columns.map((column) => sql.ref(column)));
    const all = sql<Record<string, unknown>>`select ${names} from ${sql.table(table)}`;
    take((await all.execute(queries)).rows.map((row) => columns.map((column) => row[column])));
  }

  async hasLedger(queries: LedgerQueries): Promise<boolean> {
    const found = sql<{ relname: string }>`
      select relname from pg_class join pg_namespace on pg_namespace.oid = relnamespace
      where nspname = ${this.#schema} and relkind in ('r', 'p', 'v', 'm', 'f')`;
    const names = (await found.execute(queries)).rows.map(({ relname }) => relname);
    if (names.length === 0) return false;
    if (names.includes("schema_migrations") && names.includes("meta")) return true;
    throw new LedgerError(
      "ledger-unreadable",
      `The ledger ${this.location} is in the schema of another program: ${this.#schema}.`,
      { hint: "Name a schema of its own for the ledger by ?schema=NAME; draftsync makes it." },
    );
  }

  async prepare(queries: LedgerQueries): Promise<void> {
    const found = await sql`select 1 from pg_namespace where nspname = ${this.#schema}`.execute(queries);
    // Asked first: `if not exists` needs the right to create one even where there is one.
    if (found.rows.length === 0) await queries.schema.createSchema(this.#schema).execute();
    for (const statement of createCommits) await sql.raw(statement).execute(queries);
  }

  async close(): Promise<void> {
    // A connection that is being made to a server that does not answer would be waited for.
    if (this.#outage.since !== undefined) for (const socket of this.#sockets) socket.destroy();
    await this.#queries.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #attempt<T>(mode: TransactionMode, work: (queries: LedgerQueries) => Promise<T>): Promise<T> {
    let done: { readonly result: T } | undefined;
    try {
      return await this.#outage.watch(mode !== "read", () =>
        this.#begin(mode).execute(async (queries) => {
          const result = await work(queries);
          done = { result };
          return result;
        }),
      );
    } catch (error) {
      if (!(error instanceof CommitInDoubt)) throw error;
      if (done !== undefined && (await this.#tookPlace(error))) return done.result;
      throw error.cause;
    }
  }

  /**
   * Whether a commit without a response is stored. Asked under the writer's lock, so the transaction has ended and the
   * answer is final.
   */
  async #tookPlace(doubt: CommitInDoubt): Promise<boolean> {
    const { connection, number } = doubt.mark;
    const asked = sql`select 1 from commits where connection = ${connection} and number = ${number}`;
    const passes = (error: unknown) => isBusy(error) || isLost(error) || error instanceof CommitInDoubt;
    try {
      const since = () => this.#outage.since;
      return await retryWhileBusy(
        { clock: this.#clock, busyTimeoutMs: inDoubtTimeoutMs, passes, since },
        () =>
          this.#outage.watch(true, () =>
            this.#begin("write").execute(async (queries) => (await asked.execute(queries)).rows.length > 0),
          ),
      );
    } catch (cause) {
      throw new LedgerError(
        "ledger-outcome-unknown",
        `The connection to the ledger ${this.location} was lost while a change was being committed; whether it is stored could not be found out (${messageOf(cause)}).`,
        {
          hint: "Make the database reachable and run again: the next run reads what the ledger holds and continues from there.",
          cause,
        },
      );
    }
  }

  #begin(mode: TransactionMode) {
    const builder = this.#queries.transaction();
    switch (mode) {
      case "read":
        return builder.setAccessMode("read only");
      case "write":
      case "unsynced":
      case "exclusive":
        return builder;
    }
  }

  #unfit(says: string): LedgerError {
    return new LedgerError("ledger-unreadable", `The database of the ledger ${this.location} ${says}.`, {
      hint: "Keep the ledger in a database of PostgreSQL 13 or newer with the encoding UTF8.",
    });
  }
}
