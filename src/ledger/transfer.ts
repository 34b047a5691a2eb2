import { z } from "zod";
import { checkAddress } from "./effects.ts";
import { withDetail } from "./history.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import { insertRecords, readRecords } from "./records.ts";
import type { LedgerQueries } from "./schema.ts";
import { describeDamage, parseDocument } from "./stored-json.ts";
import { camelCase, snakeCase, tables } from "./tables.ts";

/** Of the document that `state export` writes; rises when a reader of it would have to change. */
const exportVersion = 5;

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
  publications: z.array(tables.publications.schema.strict()),
  duplicates: z.array(tables.duplicates.schema.strict()),
  uploads: z.array(tables.uploads.schema.strict()),
  stored_objects: z.array(tables.stored_objects.schema.strict()),
  refreshes: z.array(tables.refreshes.schema.strict()),
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
  const { lineage, serial, service_origin, workspace, confirmed_at } = meta;
  const protectedDrafts = await readRecords(database, queries, tables.protected_drafts);
  const operations = await readRecords(database, queries, tables.operations);
  return {
    lineage,
    serial,
    service_origin,
    workspace,
    confirmed_at,
    draft_titles: await readRecords(database, queries, tables.draft_titles),
    protected_drafts: protectedDrafts.map(({ draftId }) => draftId),
    maybe_published: await readRecords(database, queries, tables.maybe_published),
    attachments: await readRecords(database, queries, tables.attachments),
    publications: await readRecords(database, queries, tables.publications),
    duplicates: await readRecords(database, queries, tables.duplicates),
    uploads: await readRecords(database, queries, tables.uploads),
    stored_objects: await readRecords(database, queries, tables.stored_objects),
    refreshes: await readRecords(database, queries, tables.refreshes),
    operations: operations.map(withDetail),
    runs: await readRecords(database, queries, tables.runs),
  };
}

/**
 * Writes an export into an empty ledger, inside a transaction. Takes over lineage and serial: it is the same ledger in
 * another place. Rejects with `ledger-not-empty`, or with `ledger-conflict` when the export contradicts itself.
 */
export async function importLedger(
  queries: LedgerQueries,
  exported: LedgerExport,
  location: string,
): Promise<void> {
  await assertEmpty(queries, location);
  const { lineage, serial, service_origin, workspace, confirmed_at } = exported;
  const meta = { lineage, serial, service_origin, workspace, confirmed_at };
  await queries.updateTable("meta").set(meta).execute();
  exported.attachments.forEach(checkAddress);
  await insertRecords(queries, tables.draft_titles, exported.draft_titles);
  const protectedDrafts = exported.protected_drafts.map((draftId) => ({ draftId }));
  await insertRecords(queries, tables.protected_drafts, protectedDrafts);
  await insertRecords(queries, tables.maybe_published, exported.maybe_published);
  await insertRecords(queries, tables.attachments, exported.attachments);
  await insertRecords(queries, tables.publications, exported.publications);
  await insertRecords(queries, tables.duplicates, exported.duplicates);
  await insertRecords(queries, tables.uploads, exported.uploads);
  await insertRecords(queries, tables.stored_objects, exported.stored_objects);
  await insertRecords(queries, tables.refreshes, exported.refreshes);
  await insertRecords(queries, tables.runs, exported.runs);
  await insertRecords(queries, tables.operations, exported.operations);
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
