import { z } from "zod";
import { checkAddress } from "./effects.ts";
import { withDetail } from "./history.ts";
import { loseOpenCalls, redateLostCalls } from "./journal.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import { insertRecords, readRecords } from "./records.ts";
import { describeDamage, parseDocument } from "./stored-json.ts";
import { camelCase, type LedgerQueries, snakeCase, type Table, tables } from "./tables.ts";

/** Of the document that `state export` writes; rises when a reader of it would have to change. */
export const exportVersion = 8;

const exportSchema = z.strictObject({
  lineage: z.string().min(1),
  serial: z.int().min(0),
  service_origin: z.string().nullable(),
  workspace: z.string().nullable(),
  /** When an operator confirmed the ledger; null while it is new. */
  confirmed_at: z.int().nullable(),
  draft_titles: z.array(tables.draft_titles.schema.strict()),
  protected_drafts: z.array(z.int()),
  maybe_published: z.array(tables.maybe_published.schema.strict()),
  attachments: z.array(tables.attachments.schema.strict()),
  kept_values: z.array(tables.kept_values.schema.strict()),
  publications: z.array(tables.publications.schema.strict()),
  duplicates: z.array(tables.duplicates.schema.strict()),
  uploads: z.array(tables.uploads.schema.strict()),
  stored_objects: z.array(tables.stored_objects.schema.strict()),
  refreshes: z.array(tables.refreshes.schema.strict()),
  versions: z.array(tables.versions.schema.strict()),
  operations: z.array(tables.operations.schema.extend({ detail: z.string().exactOptional() }).strict()),
  runs: z.array(tables.runs.schema.strict()),
});

/**
 * Everything in a ledger, as plain values; {@link exportDocument} converts it to the JSON of `state export`. Lists are
 * sorted, so the same content gives the same bytes. Holds no secrets. Times are epoch milliseconds.
 */
export type LedgerExport = z.output<typeof exportSchema>;

/** Reads a whole ledger inside a transaction; `meta` is its row of that table. */
export async function exportLedger(
  database: LedgerDatabase,
  queries: LedgerQueries,
  meta: Pick<LedgerExport, "lineage" | "serial" | "service_origin" | "workspace" | "confirmed_at">,
): Promise<LedgerExport> {
  const read = <Schema extends z.ZodObject>(table: Table<Schema>) => readRecords(database, queries, table);
  return {
    ...meta,
    draft_titles: await read(tables.draft_titles),
    protected_drafts: (await read(tables.protected_drafts)).map(({ draftId }) => draftId),
    maybe_published: await read(tables.maybe_published),
    attachments: await read(tables.attachments),
    kept_values: await read(tables.kept_values),
    publications: await read(tables.publications),
    duplicates: await read(tables.duplicates),
    uploads: await read(tables.uploads),
    stored_objects: await read(tables.stored_objects),
    refreshes: await read(tables.refreshes),
    versions: await read(tables.versions),
    operations: (await read(tables.operations)).map(withDetail),
    runs: await read(tables.runs),
  };
}

/**
 * Writes an export into an empty ledger, inside a transaction. Takes over lineage and serial: it is the same ledger in
 * another place. Rejects with `ledger-not-empty`, or with `ledger-conflict` when the export contradicts itself.
 */
export async function importLedger(
  queries: LedgerQueries,
  exported: LedgerExport,
  { location, now }: { readonly location: string; readonly now: number },
): Promise<void> {
  await assertEmpty(queries, location);
  const { lineage, serial, service_origin, workspace, confirmed_at, ...records } = exported;
  const meta = { lineage, serial, service_origin, workspace, confirmed_at };
  await queries.updateTable("meta").set(meta).execute();
  records.attachments.forEach(checkAddress);
  const lists: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
    ...records,
    protected_drafts: records.protected_drafts.map((draftId) => ({ draftId })),
  };
  // In the order of `tables`: runs come before their operations.
  for (const [name, table] of Object.entries(tables))
    await insertRecords<z.ZodObject>(queries, table, lists[name] ?? []);
  await loseOpenCalls(queries, now);
  await redateLostCalls(queries, now);
}

/** The document of an export: the version of the format, then the export with names in `snake_case`. */
export function exportDocument(exported: LedgerExport): Readonly<Record<string, unknown>> {
  return { format_version: exportVersion, ...renameRecords(exported, snakeCase) };
}

/**
 * Parses the text of a document. Throws `ledger-import-invalid` for any other text, with the place of the first mistake;
 * `name` is how messages call the text.
 */
export function parseExport(text: string, name: string): LedgerExport {
  const document = parseDocument(text, name, exportKind);
  const parsed = exportSchema.safeParse(renameRecords(document, camelCase));
  if (parsed.success) return parsed.data;
  throw invalid(describeDamage(name, parsed.error, snakeCase));
}

const exportKind = {
  version: exportVersion,
  title: "an export of a ledger",
  otherVersion: "Import it with the version of draftsync that wrote it.",
  invalid,
};

/** Members of a record that are records too. The names in others (attributes, failure, totals) are data. */
const nested: ReadonlySet<string> = new Set(["from", "intent"]);

function renameRecords(
  document: Readonly<Record<string, unknown>>,
  rename: (name: string) => string,
): Readonly<Record<string, unknown>> {
  const lists = Object.entries(document).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map((record: unknown) => renameMembers(record, rename)) : value,
  ]);
  return Object.fromEntries(lists);
}

function renameMembers(record: unknown, rename: (name: string) => string): unknown {
  if (typeof record !== "object" || record === null || Array.isArray(record)) return record;
  const members = Object.entries(record).map(([name, value]) => [
    rename(name),
    nested.has(name) ? renameMembers(value, rename) : value,
  ]);
  return Object.fromEntries(members);
}

async function assertEmpty(queries: LedgerQueries, location: string): Promise<void> {
  const meta = await queries.selectFrom("meta").select(["serial", "service_origin"]).executeTakeFirst();
  const run = await queries.selectFrom("runs").select("id").limit(1).executeTakeFirst();
  // Every change but these two raises the serial.
  if (meta?.serial === 0 && meta.service_origin === null && run === undefined) return;
  throw new LedgerError("ledger-not-empty", `The ledger ${location} is not empty; nothing was imported.`, {
    hint: "Import into a new ledger: set `state` (or DRAFTSYNC_STATE, --state) to a place where there is none.",
  });
}

function invalid(
  message: string,
  hint = "Import what `draftsync state export` wrote, unchanged.",
): LedgerError {
  return new LedgerError("ledger-import-invalid", message, { hint });
}
