import type { Kysely } from "kysely";

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

/** Drafts of which nothing may be deleted. */
export interface ProtectedDraftsTable {
  draft_id: number;
}

/** Drafts that may have been published before the ledger. */
export interface MaybePublishedDraftsTable {
  draft_id: number;
  found_at: number;
}

/** Files that are attached. Key: draft, kind and file. `attributes` is a JSON object. */
export interface AttachmentsTable {
  draft_id: number;
  kind: string;
  file_id: number;
  address: string;
  attributes: string;
  sha256: string | null;
  /** 1: another file has taken its place, and it is still to be detached. */
  replaced: number;
  confirmed_by: string;
  confirmed_at: number;
}

/** Products published from drafts. Key: draft and revision. */
export interface PublicationsTable {
  draft_id: number;
  revision: number;
  product_id: number;
  confirmed_by: string;
  confirmed_at: number;
}

/** Products made as copies. Exactly one of the two `from_` columns is set. */
export interface DuplicatesTable {
  name: string;
  from_product_id: number | null;
  from_draft_id: number | null;
  source_product_id: number;
  product_id: number;
  confirmed_by: string;
  confirmed_at: number;
}

/** Registered uploads. */
export interface UploadsTable {
  upload_id: string;
  /** Empty for an upload that draftsync did not register. */
  upload_key: string;
  source: string | null;
  sha256: string | null;
  size: number | null;
  status: string;
  file_id: number | null;
  registered_at: number;
}

/** Bytes of sources that are in storage and not registered yet. */
export interface StoredObjectsTable {
  upload_key: string;
  source: string;
  sha256: string;
  size: number;
  stored_at: number;
}

/** Things that were looked at and not confirmed by it. */
export interface RefreshesTable {
  resource: string;
  refreshed_at: number;
}

/**
 * Writing calls. `outcome` is null between intent and outcome. `intent` and `failure` are JSON objects.
 *
 * The `settled_` columns are set once an operation is in doubt no more: `settled_as` is what was found out
 * (`done`, `rejected`, `not_sent`) or `superseded`, `settled_by` the operation that proved it, if one did.
 */
export interface OperationsTable {
  id: string;
  run_id: string;
  address: string;
  kind: string;
  method: string;
  path: string;
  intent: string;
  started_at: number;
  finished_at: number | null;
  outcome: string | null;
  status: number | null;
  attempts: number | null;
  failure: string | null;
  settled_at: number | null;
  settled_as: string | null;
  settled_by: string | null;
}

/** Runs of `apply`. `totals` is JSON. */
export interface RunsTable {
  id: string;
  command: string;
  plan_id: string;
  started_at: number;
  finished_at: number | null;
  status: string | null;
  totals: string | null;
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

/** The slots of the rate bound that a process has. `process` is JSON; moments are of the shared clock. */
export interface SlotSharesTable {
  owner: string;
  process: string;
  slots: number;
  in_flight: number;
  wanted: number;
  window_ms: number;
  hold_ms: number;
  timeout_ms: number;
  served_at: number;
  renewed_at: number;
  ended_at: number | null;
}

/** One row while the service has asked for a wait. */
export interface SlotPausesTable {
  /** Always 1. */
  id: number;
  set_at: number;
  ms: number;
}

/** One row once people were told something: the status of the workspace that they know. */
export interface NoticesTable {
  /** Always 1. */
  id: number;
  status: string;
}

/** The tables after the last migration. */
export interface LedgerTables {
  meta: MetaTable;
  schema_migrations: MigrationsTable;
  protected_drafts: ProtectedDraftsTable;
  maybe_published_drafts: MaybePublishedDraftsTable;
  attachments: AttachmentsTable;
  publications: PublicationsTable;
  duplicates: DuplicatesTable;
  uploads: UploadsTable;
  stored_objects: StoredObjectsTable;
  refreshes: RefreshesTable;
  operations: OperationsTable;
  runs: RunsTable;
  leases: LeasesTable;
  slot_shares: SlotSharesTable;
  slot_pauses: SlotPausesTable;
  notices: NoticesTable;
}

/** What queries run on: the database, or a transaction in it. */
export type LedgerQueries = Kysely<LedgerTables>;
