import { sql } from "kysely";
import type { Migration } from "./migrate.ts";

/**
 * The schema of the first release, in SQL that both databases take. Values are written out, not imported from the model: a
 * released migration must not change when the model does. Once it is released, later changes are migrations of their own.
 */
const initialSchema: Migration = {
  version: 1,
  name: "schema-5",
  async up(queries) {
    for (const statement of statements) await sql.raw(statement).execute(queries);
  },
};

const turns: Migration = {
  version: 2,
  name: "turns",
  async up(queries) {
    await sql.raw("create table turns (address text primary key, at bigint not null)").execute(queries);
  },
};

const keptValues: Migration = {
  version: 3,
  name: "kept-values",
  async up(queries) {
    await sql
      .raw("create table kept_values (address text primary key, attributes text not null)")
      .execute(queries);
    await sql.raw("alter table attachments add column former_address text").execute(queries);
  },
};

const lostOperations: Migration = {
  version: 4,
  name: "lost-operations",
  async up(queries) {
    await sql
      .raw(
        `create index operations_lost on operations (finished_at)
          where (outcome is null or outcome = 'unknown' or attempts > 1)`,
      )
      .execute(queries);
  },
};

/** Every migration, numbered from 1 without gaps, in the order in which they are applied. */
export const migrations: readonly Migration[] = [initialSchema, turns, keptValues, lostOperations];

const provenance = `
  provenance_by text not null
    check (provenance_by in ('post', 'patch', 'get', 'probe', 'import', 'operator')),
  provenance_at bigint not null`;

const records: readonly string[] = [
  `create table meta (
    id integer primary key check (id = 1),
    lineage text not null,
    serial bigint not null,
    service_origin text,
    workspace text,
    confirmed_at bigint
  )`,
  "create table draft_titles (draft_id bigint primary key, title text not null)",
  "create table protected_drafts (draft_id bigint primary key)",
  "create table maybe_published (draft_id bigint primary key, at bigint not null)",
  `create table attachments (
    draft_id bigint not null,
    kind text not null check (kind in ('product_files', 'promotional_files')),
    file_id bigint not null,
    address text not null unique,
    attributes text not null,
    sha256 text,
    replaced_by bigint,
    ${provenance},
    constraint attachments_key primary key (draft_id, kind, file_id)
  )`,
  `create table publications (
    draft_id bigint not null,
    revision bigint not null,
    product_id bigint not null,
    ${provenance},
    constraint publications_key primary key (draft_id, revision)
  )`,
  `create table duplicates (
    name text primary key,
    "from" text not null,
    source_product_id bigint not null,
    product_id bigint not null,
    ${provenance}
  )`,
  `create table uploads (
    upload_id text primary key,
    upload_key text,
    source text,
    sha256 text,
    size bigint,
    status text not null check (status in ('pending', 'success', 'failed')),
    file_id bigint,
    at bigint not null
  )`,
  `create table stored_objects (
    upload_key text primary key,
    source text not null,
    sha256 text not null,
    size bigint not null,
    at bigint not null
  )`,
  "create table refreshes (resource text primary key, at bigint not null)",
  `create table versions (
    address text primary key,
    serial bigint not null,
    changed_by text not null,
    before text
  )`,
];

const journal: readonly string[] = [
  `create table runs (
    id text primary key,
    command text not null,
    plan_id text not null,
    started_at bigint not null,
    finished_at bigint,
    status text,
    totals text,
    started_by text
  )`,
  `create table operations (
    id text primary key,
    run_id text not null references runs (id),
    address text not null,
    kind text not null check (kind in ('attach', 'update', 'detach', 'publish', 'duplicate', 'upload')),
    method text not null,
    path text not null,
    intent text not null,
    started_at bigint not null,
    finished_at bigint,
    outcome text check (outcome in ('done', 'rejected', 'not_sent', 'unknown')),
    status integer,
    attempts integer,
    failure text,
    settled_at bigint,
    settled_as text check (settled_as in ('done', 'rejected', 'not_sent', 'superseded')),
    settled_by text,
    constraint operations_finished check ((outcome is null) = (finished_at is null)),
    constraint operations_settled check ((settled_as is null) = (settled_at is null))
  )`,
  // Stays small, because nearly every operation ends: looking up operations in doubt never reads the history.
  `create index operations_in_doubt on operations (address)
    where settled_at is null and (outcome is null or outcome = 'unknown')`,
  "create index operations_by_run on operations (run_id)",
  "create table notices (id integer primary key check (id = 1), status text not null)",
];

const locks: readonly string[] = [
  `create table leases (
    id integer primary key check (id = 1),
    token bigint not null,
    lock_id text,
    holder text,
    acquired_at bigint,
    expires_at bigint,
    lease_until bigint,
    constraint leases_held check (
      (lock_id is null) = (holder is null) and
      (lock_id is null) = (acquired_at is null) and
      (lock_id is null) = (expires_at is null)
    )
  )`,
  // One row, never deleted, so that the token outlives every lease.
  "insert into leases (id, token) values (1, 0)",
];

const reservations: readonly string[] = [
  `create table rate_reservations (
    key text not null,
    id text not null,
    reserver text not null,
    lost_at bigint not null,
    ended_at bigint,
    constraint rate_reservations_key primary key (key, id)
  )`,
  "create index rate_reservations_by_reserver on rate_reservations (key, reserver, ended_at, lost_at)",
  "create table rate_pauses (key text primary key, set_at bigint not null, ms bigint not null)",
];

const statements = [...records, ...journal, ...locks, ...reservations];
