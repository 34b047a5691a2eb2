/** A PostgreSQL server of its own, with `changed` settings (`fsync=on`); see start-postgres.mjs. */
export interface PostgresServer {
  /** Of its database, with the password of a user who may do anything in it. */
  readonly url: string;
  /** Ends its sessions, then the server, and removes its data. */
  stop(): Promise<void>;
  /** Ends it as a crash would, and starts it again with the same data after `ms`. */
  restart(ms: number): Promise<void>;
}

export function startPostgres(changed?: readonly string[]): Promise<PostgresServer>;
