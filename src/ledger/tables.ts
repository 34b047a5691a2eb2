import type { Kysely } from "kysely";
import { z } from "zod";
import { runSchema, storedOperationSchema } from "../model/history.ts";
import {
  attachmentSchema,
  duplicateSchema,
  keptValuesSchema,
  publicationSchema,
  refreshSchema,
  storedObjectSchema,
  uploadSchema,
  versionSchema,
} from "../model/recorded.ts";

/**
 * How a record becomes a row, for every table of records:
 *
 * | member | columns |
 * |---|---|
 * | `draftId: 7` | `draft_id`: an integer or a text |
 * | `provenance: { by, at }`, `settled: { as, at, by }` | one a member: `provenance_by`, `provenance_at` |
 * | `attributes`, `from`, `intent`, `failure`, `totals`, `startedBy` | one, with JSON |
 * | absent | null |
 */
const groups = { provenance: ["by", "at"], settled: ["as", "at", "by"] } as const;
const jsonMembers = ["attributes", "from", "intent", "failure", "totals", "startedBy"] as const;

/** One column of a table of records. */
export interface Column {
  readonly name: string;
  readonly member: string;
  /** The member of the group, when the column is one of a group. */
  readonly part?: string;
  readonly isJson: boolean;
}

/** A table of records: name, record schema, and the members of its primary key. */
export interface Table<Schema extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly schema: Schema;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  /** Members by which records are sorted when they are read. */
  readonly order: readonly string[];
}

/** The record of a table. */
export type RecordOf<T extends Table> = z.output<T["schema"]>;

function table<Schema extends z.ZodObject>(
  name: string,
  schema: Schema,
  key: readonly (keyof z.output<Schema> & string)[],
  order: readonly (keyof z.output<Schema> & string)[] = key,
): Table<Schema> {
  const columns = Object.keys(schema.shape).flatMap((member) => columnsOf(member));
  return { name, schema, columns, key, order };
}

function columnsOf(member: string): Column[] {
  const name = snakeCase(member);
  const [, parts] = Object.entries(groups).find(([group]) => group === member) ?? [];
  if (parts === undefined) return [{ name, member, isJson: isJsonMember(member) }];
  return parts.map((part) => ({ name: `${name}_${part}`, member, part, isJson: false }));
}

function isJsonMember(member: string): boolean {
  return jsonMembers.some((name) => name === member);
}

/** `draftId` → `draft_id`: members of records in columns and in exports. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `draft_id` → `draftId`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The tables of records. Keys are the names of the tables, and of the lists in an export. */
export const tables = {
  draft_titles: table("draft_titles", z.object({ draftId: z.int(), title: z.string() }), ["draftId"]),
  protected_drafts: table("protected_drafts", z.object({ draftId: z.int() }), ["draftId"]),
  maybe_published: table("maybe_published", z.object({ draftId: z.int(), at: z.int() }), ["draftId"]),
  attachments: table("attachments", attachmentSchema, ["draftId", "kind", "fileId"], ["address"]),
  kept_values: table("kept_values", keptValuesSchema, ["address"]),
  publications: table("publications", publicationSchema, ["draftId", "revision"]),
  duplicates: table("duplicates", duplicateSchema, ["name"]),
  uploads: table("uploads", uploadSchema, ["uploadId"]),
  stored_objects: table("stored_objects", storedObjectSchema, ["uploadKey"]),
  refreshes: table("refreshes", refreshSchema, ["resource"]),
  versions: table("versions", versionSchema, ["address"]),
  runs: table("runs", runSchema, ["id"], ["startedAt", "id"]),
  operations: table("operations", storedOperationSchema, ["id"], ["startedAt", "id"]),
};

type Tables = typeof tables;
type Group = keyof typeof groups;
type JsonMember = (typeof jsonMembers)[number];

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : "";

type Stored<Member, Value> = Member extends JsonMember
  ? string
  : Value extends number | true
    ? number
    : string;

type Columns<R, Prefix extends string = ""> = {
  [Member in Exclude<keyof R & string, Group> as `${Prefix}${SnakeCase<Member>}`]-?:
    | Stored<Member, Exclude<R[Member], undefined>>
    | (IsOptional<R, Member> extends true ? null : never);
};

type IsOptional<R, Member extends keyof R> = Partial<Pick<R, Member>> extends Pick<R, Member> ? true : false;

type GroupColumns<R, Name extends Group> = Name extends keyof R
  ? IsOptional<R, Name> extends true
    ? Columns<Partial<Exclude<R[Name], undefined>>, `${Name}_`>
    : Columns<R[Name], `${Name}_`>
  : unknown;

type RecordTables = {
  [Name in keyof Tables]: Columns<RecordOf<Tables[Name]>> &
    GroupColumns<RecordOf<Tables[Name]>, "provenance"> &
    GroupColumns<RecordOf<Tables[Name]>, "settled">;
};

/** The tables of the ledger itself. Times are epoch milliseconds; `id` is always 1. */
interface OwnTables {
  /** One row. */
  meta: {
    id: number;
    lineage: string;
    serial: number;
    service_origin: string | null;
    workspace: string | null;
    /** When a person confirmed the ledger. */
    confirmed_at: number | null;
  };
  /** Migrations that were applied. */
  schema_migrations: { version: number; name: string; applied_at: number };
  /** One row: the lock of the workspace. `token` outlives every lease; the other columns are null while it is free. */
  leases: {
    id: number;
    token: number;
    lock_id: string | null;
    /** JSON: the holder, and its process. */
    holder: string | null;
    acquired_at: number | null;
    expires_at: number | null;
    /** The end of the lease by the monotonic clock of the holder's boot; null where the ledger has none. */
    lease_until: number | null;
  };
  /** Calls in flight, or that ended within the last window. Key: `key` and id. Times are of the shared clock. */
  rate_reservations: {
    /** Of the API key in a table that workspaces share; empty in a ledger. */
    key: string;
    id: string;
    /** JSON: the process, and its settings. */
    reserver: string;
    /** When the call has ended, even if its process cannot be judged. */
    lost_at: number;
    /** When the call ended, or can no longer arrive; null in flight. */
    ended_at: number | null;
  };
  /** The longest wait that the service asked for, of each `key`. */
  rate_pauses: { key: string; set_at: number; ms: number };
  /** One row once a notification was sent: the status of the workspace that it reported. */
  notices: { id: number; status: string };
  /** When a limited run began a change, or a draft, last. */
  turns: { address: string; at: number };
}

/** All tables. */
export interface LedgerTables extends RecordTables, OwnTables {}

/** What queries run on: the database, or a transaction in it. */
export type LedgerQueries = Kysely<LedgerTables>;
