import { type RawBuilder, sql } from "kysely";
import type { z } from "zod";
import { compareText } from "../model/address.ts";
import type { FileTarget } from "../model/resource.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import type { Column, LedgerQueries, Table } from "./tables.ts";

/** Few enough for the parameters that one statement may have: 32,766 in SQLite, 65,535 in PostgreSQL. */
const maxRows = 500;

/** Reads a whole table inside a transaction. Sorted here, because each database has its own order of texts. */
export async function readRecords<Schema extends z.ZodObject>(
  database: LedgerDatabase,
  queries: LedgerQueries,
  table: Table<Schema>,
): Promise<z.output<Schema>[]> {
  const records: z.output<Schema>[] = [];
  const names = table.columns.map(({ name }) => name);
  await database.scan(queries, table.name, names, (rows) => {
    for (const values of rows) records.push(recordOf(table, values, database.location));
  });
  return sorted(table, records);
}

/** Converts rows that a query returned, sorted as {@link readRecords} does. */
export function recordsOf<Schema extends z.ZodObject>(
  table: Table<Schema>,
  rows: readonly Readonly<Record<string, unknown>>[],
  location: string,
): z.output<Schema>[] {
  const records = rows.map((row) => {
    const values = table.columns.map(({ name }) => row[name]);
    return recordOf(table, values, location);
  });
  return sorted(table, records);
}

/** The query for the record of one file. */
export function selectAttachment(queries: LedgerQueries, { draftId, kind, fileId }: FileTarget) {
  return queries
    .selectFrom("attachments")
    .where("draft_id", "=", draftId)
    .where("kind", "=", kind)
    .where("file_id", "=", fileId);
}

/** Inserts records; one that is there already is a `ledger-conflict`. */
export async function insertRecords<Schema extends z.ZodObject>(
  queries: LedgerQueries,
  table: Table<Schema>,
  records: readonly z.output<Schema>[],
): Promise<void> {
  for (let from = 0; from < records.length; from += maxRows) {
    await insertion(table, records.slice(from, from + maxRows)).execute(queries);
  }
}

/** Inserts a record, or replaces the one with its key. */
export async function putRecord<Schema extends z.ZodObject>(
  queries: LedgerQueries,
  table: Table<Schema>,
  record: z.output<Schema>,
): Promise<void> {
  const replace = table.columns
    .filter((column) => !isKey(table, column))
    .map(({ name }) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`);
  const key = namesOf(table.columns.filter((column) => isKey(table, column)));
  await sql`${insertion(table, [record])} on conflict (${key}) do update set ${sql.join(replace)}`.execute(
    queries,
  );
}

/** Inserts a record unless there is one with its key. */
export async function addRecord<Schema extends z.ZodObject>(
  queries: LedgerQueries,
  table: Table<Schema>,
  record: z.output<Schema>,
): Promise<void> {
  await sql`${insertion(table, [record])} on conflict do nothing`.execute(queries);
}

/** Parses a row, or throws `ledger-corrupt` with the table, the key and the column. */
export function parseRow<Schema extends z.ZodType>(
  schema: Schema,
  row: unknown,
  at: { readonly location: string; readonly table: string; readonly key: string },
): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw corruptRow(at, issue?.path.join(".") ?? "", issue?.message ?? "");
}

function recordOf<Schema extends z.ZodObject>(
  table: Table<Schema>,
  values: readonly unknown[],
  location: string,
): z.output<Schema> {
  const damaged = (column: string | undefined, detail: string | undefined) =>
    corruptRow({ location, table: table.name, key: describeKey(table, values) }, column ?? "", detail ?? "");
  const record: Record<string, unknown> = {};
  const groups: Record<string, Record<string, unknown>> = {};
  for (const [index, { name, member, part, isJson }] of table.columns.entries()) {
    const value = values[index];
    if (value === null || value === undefined) continue;
    if (part !== undefined) {
      groups[member] ??= {};
      groups[member][part] = value;
      record[member] = groups[member];
    } else if (!isJson || typeof value !== "string") record[member] = value;
    else {
      try {
        record[member] = JSON.parse(value);
      } catch {
        throw damaged(name, "not JSON");
      }
    }
  }
  const parsed = table.schema.safeParse(record);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const column = table.columns.find(
    ({ member, part }) => member === issue?.path[0] && (part === undefined || part === issue?.path[1]),
  );
  throw damaged(column?.name, issue?.message);
}

function storedValue(record: Readonly<Record<string, unknown>>, { member, part, isJson }: Column): unknown {
  const value = record[member];
  if (value === undefined) return null;
  if (isJson) return JSON.stringify(value);
  if (part !== undefined) return Object(value)[part] ?? null;
  return value === true ? 1 : value;
}

function insertion<Schema extends z.ZodObject>(
  table: Table<Schema>,
  records: readonly z.output<Schema>[],
): RawBuilder<unknown> {
  const rows = records.map((record) => {
    const values = table.columns.map((column) => storedValue(record, column));
    return sql`(${sql.join(values)})`;
  });
  return sql`insert into ${sql.table(table.name)} (${namesOf(table.columns)}) values ${sql.join(rows)}`;
}

function isKey(table: Table, { member }: Column): boolean {
  return table.key.includes(member);
}

function namesOf(columns: readonly Column[]): RawBuilder<unknown> {
  return sql.join(columns.map(({ name }) => sql.ref(name)));
}

function sorted<Row extends Readonly<Record<string, unknown>>>(
  { order }: Pick<Table, "order">,
  records: Row[],
): Row[] {
  return records.sort((one, other) => {
    for (const member of order) {
      const compared = compare(one[member], other[member]);
      if (compared !== 0) return compared;
    }
    return 0;
  });
}

function compare(one: unknown, other: unknown): number {
  return typeof one === "number" && typeof other === "number"
    ? one - other
    : compareText(String(one), String(other));
}

function describeKey(table: Table, values: readonly unknown[]): string {
  const parts = table.columns.flatMap((column, index) =>
    isKey(table, column) ? [`${column.name} ${values[index]}`] : [],
  );
  return parts.join(", ");
}

function corruptRow(
  { location, table, key }: { readonly location: string; readonly table: string; readonly key: string },
  column: string,
  detail: string,
): LedgerError {
  return new LedgerError(
    "ledger-corrupt",
    `The ledger ${location} is damaged: table ${table}, row ${key}, column ${column}: ${detail}.`,
    { hint: "Keep a copy of it, then restore the ledger from a backup." },
  );
}
