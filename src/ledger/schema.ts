import type { Kysely } from "kysely";
import type { RecordTables } from "./tables.ts";

/** One row: what the ledger is. */
export interface MetaTable {
  /** Always 1. */
  id: number;
  lineage: string;
  serial: number;
  service_origin: string | null;
  workspace: string | null;
  /** When a person confirmed the ledger. */
  confirmed_at: number | null;
}

/** Migrations that were applied. Times are epoch milliseconds, here and below. */
export interface MigrationsTable {
  version: number;
  name: string;
  applied_at: number;
}

/**
 * One row: the lock of the workspace. `token` outlives every lease; the other columns are null while nobody holds the
 * lock. `holder` is a JSON object.
 */
export interface LeasesTable {
  /** Always 1. */
  id: number;
  token: number;
  lock_id: string | null;
  holder: string | null;
  acquired_at: number | null;
  expires_at: number | null;
  /** The end of the lease by the monotonic clock of the holder's boot; null where the ledger has none. */
  lease_until: number | null;
}

/** Calls in flight, or that ended within the last window. Key: `key` and id. Times are of the shared clock. */
export interface RateReservationsTable {
  /** Of the API key in a table that workspaces share; empty in a ledger. */
  key: string;
  id: string;
  /** JSON: the process, and its settings. */
  reserver: string;
  /** When the call has ended, even if its process cannot be judged. */
  lost_at: number;
  /** When the call ended, or can no longer arrive; null in flight. */
  ended_at: number | null;
}

/** The longest wait that the service asked for, of each `key`. */
export interface RatePausesTable {
  key: string;
  set_at: number;
  ms: number;
}

/** One row once a notification was sent: the status of the workspace that it reported. */
export interface NoticesTable {
  /** Always 1. */
  id: number;
  status: string;
}

/** All tables: those of records, which `tables.ts` specifies, and those for the ledger itself. */
export interface LedgerTables extends RecordTables {
  meta: MetaTable;
  schema_migrations: MigrationsTable;
  leases: LeasesTable;
  rate_reservations: RateReservationsTable;
  rate_pauses: RatePausesTable;
  notices: NoticesTable;
}

/** What queries run on: the database, or a transaction in it. */
export type LedgerQueries = Kysely<LedgerTables>;
