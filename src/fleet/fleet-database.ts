import type { Socket } from "node:net";
import { openPool, type Pool, trackSocket } from "../ledger/postgres/postgres-connection.ts";
import { isBusy, isLost } from "../ledger/postgres/postgres-failure.ts";
import { parsePostgresLocation } from "../ledger/postgres/postgres-location.ts";
import { DraftsyncError, messageOf } from "../model/errors.ts";
import { systemClock } from "../model/ports.ts";
import { wait } from "../model/wait.ts";

/** An error of a fleet: its database, its queue, or an unknown name. */
export class FleetError extends DraftsyncError {
  override readonly name = "FleetError";
}

/** The version of the tables. A later version adds columns with defaults, so that both versions can run side by side. */
const version = 1;

const tables = `
create table if not exists fleet_meta (version integer not null);
create table if not exists fleet_workspaces (
  name text primary key,
  config text not null,
  every_ms bigint not null,
  key text,
  paused boolean not null default false,
  retired_at timestamptz,
  since timestamptz not null default clock_timestamp(),
  due_at timestamptz not null,
  wanted_at timestamptz,
  run_id uuid,
  worker text,
  started_at timestamptz,
  seen_at timestamptz,
  ended_at timestamptz,
  last_status text,
  last_success_at timestamptz,
  failures integer not null default 0,
  in_doubt integer not null default 0,
  commit text,
  notified text
);
create table if not exists fleet_runs (
  id uuid primary key,
  workspace text not null,
  worker text not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  status text not null,
  exit_code integer,
  result jsonb,
  error jsonb,
  commit text
);
create table if not exists fleet_workers (
  name text primary key,
  slots integer not null,
  seen_at timestamptz not null
);
create index if not exists fleet_runs_by_workspace on fleet_runs (workspace, started_at desc);
`;

/** How long to wait for a database that does not answer. */
export interface RetrySettings {
  /** Milliseconds; 0: fail immediately. */
  readonly ms: number;
  /** Called when the database stops answering, and when it answers again. */
  readonly onAway?: (isAway: boolean) => void;
  readonly signal?: AbortSignal;
}

/** The connections of one process to the database of a fleet. */
export class FleetDatabase {
  /** For messages: without the password. */
  readonly shown: string;
  /** Of the tables; also the name of the queue. */
  readonly schema: string;
  readonly #location: string;
  readonly #pool: Pool;
  readonly #sockets = new Set<Socket>();
  readonly #retry: RetrySettings;

  constructor(location: string, retry: RetrySettings) {
    const parsed = parsePostgresLocation(location);
    this.shown = parsed.shown;
    this.schema = parsed.schema;
    this.#location = location;
    this.#retry = retry;
    this.#pool = this.pool(parsed.schema, 4);
  }

  /** Opens another pool, with `schema` as search path. The caller closes it. */
  pool(schema: string, max: number): Pool {
    return openPool(parsePostgresLocation(this.#location), {
      options: `-c search_path=${schema}`,
      application_name: "draftsync-fleet",
      stream: () => trackSocket(this.#sockets),
      max,
      query_timeout: 30_000,
    });
  }

  /** Creates missing tables. Several processes may call it at the same time. */
  async migrate(): Promise<void> {
    const found = await this.#version();
    if (found !== undefined && found >= version) return;
    // Statements of one text are one transaction.
    await this.query(
      `select pg_advisory_xact_lock(hashtext('draftsync fleet ${this.schema}'));
       create schema if not exists ${this.schema};
       ${tables}
       insert into fleet_meta (version) select ${version} where not exists (select from fleet_meta);`,
    );
  }

  /** Throws {@link FleetError} `fleet-missing` when there is no fleet in the database. */
  async assertThere(): Promise<void> {
    if ((await this.#version()) !== undefined) return;
    throw new FleetError(`there is no fleet in ${this.shown} yet`, {
      code: "fleet-missing",
      hint: "Run `draftsync fleet apply` first.",
    });
  }

  async #version(): Promise<number | undefined> {
    const [there] = await this.query("select to_regclass($1) as found", [`${this.schema}.fleet_meta`]);
    if (there?.found === null) return undefined;
    const [meta] = await this.query("select version from fleet_meta");
    return Number(meta?.version);
  }

  /** Returns the rows of one statement; retries a lost connection within the retry settings. Throws {@link FleetError}. */
  async query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]> {
    const { ms, onAway, signal } = this.#retry;
    const since = systemClock.monotonic();
    let isAway = false;
    for (;;) {
      try {
        // Without values, the text may hold several statements.
        const { rows } = await (values === undefined
          ? this.#pool.query(text)
          : this.#pool.query(text, [...values]));
        if (isAway) onAway?.(false);
        return rows ?? [];
      } catch (error) {
        const mayPass = isLost(error) || isBusy(error);
        if (!mayPass || signal?.aborted === true || systemClock.monotonic() - since > ms)
          throw this.#explain(error);
        if (!isAway) onAway?.(true);
        isAway = true;
        await (signal === undefined ? wait(1_000) : wait(1_000, signal));
      }
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
    for (const socket of this.#sockets) socket.destroy();
  }

  #explain(error: unknown): FleetError {
    const away = isLost(error) || isBusy(error);
    const says = away ? "cannot be reached" : "failed";
    return new FleetError(`the fleet's database ${this.shown} ${says}: ${messageOf(error)}`, {
      code: away ? "fleet-database-unreachable" : "fleet-database-failed",
      hint: away
        ? "Check the address in fleet.yaml or DRAFTSYNC_FLEET_DATABASE, and that the server is running."
        : "Set the password in PGPASSWORD or the password file (PGPASSFILE or ~/.pgpass), and check the user: it needs CREATE on the database.",
      cause: error,
    });
  }
}
