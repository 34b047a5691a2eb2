/** A new PostgreSQL server with `changed` settings (`fsync=on`); see start-postgres.mjs. */
export interface PostgresServer {
  /** URL of its database, with the password of a superuser. */
  readonly url: string;
  /** Ends its sessions, then the server, and removes its data. */
  stop(): Promise<void>;
  /** Crashes the server, and starts it again with the same data after `ms`. */
  restart(ms: number): Promise<void>;
}

export function startPostgres(changed?: readonly string[]): Promise<PostgresServer>;
