import { z } from "zod";
import {
  fileResourceOf,
  type Recorded,
  type RecordedAttachment,
  type RecordedNames,
  type RecordedOperation,
  type RecordedOwner,
} from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";
import { readInDoubt } from "./history.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import { parseRow, readRecords } from "./records.ts";
import type { LedgerQueries } from "./tables.ts";
import { type Table, tables } from "./tables.ts";

/** Part of a transaction: everything that is recorded. */
export async function readRecorded(database: LedgerDatabase, queries: LedgerQueries): Promise<Recorded> {
  const { location } = database;
  const meta = await readMeta(queries, location);
  const read = <Schema extends z.ZodObject>(table: Table<Schema>) => readRecords(database, queries, table);
  const protectedDrafts = await read(tables.protected_drafts);
  const maybePublished = await read(tables.maybe_published);
  const versions = await read(tables.versions);
  const keptValues = await read(tables.kept_values);
  const attachments = await read(tables.attachments);
  return {
    lineage: meta.lineage,
    serial: meta.serial,
    ...ownerOf(meta),
    isConfirmed: meta.confirmed_at !== null,
    ...(await readNames(database, queries)),
    protectedDrafts: new Set(protectedDrafts.map(({ draftId }) => draftId)),
    maybePublished: new Map(maybePublished.map(({ draftId, at }) => [draftId, at])),
    attachments,
    keptValues: new Map(keptValues.map(({ address, attributes }) => [address, attributes])),
    uploads: await read(tables.uploads),
    storedObjects: await read(tables.stored_objects),
    refreshes: await read(tables.refreshes),
    versions: new Map(versions.map((version) => [version.address, version])),
    inDoubt: withoutProbes(await readInDoubt(queries, location), attachments),
  };
}

/** A lost probe leaves nothing to settle of a file that is not recorded: it is not ours. */
function withoutProbes(
  inDoubt: readonly RecordedOperation[],
  attachments: readonly RecordedAttachment[],
): readonly RecordedOperation[] {
  if (!inDoubt.some(({ intent }) => intent.isProbe)) return inDoubt;
  const known = new Set(attachments.map(fileResource));
  return inDoubt.filter(
    (operation) => !operation.intent.isProbe || known.has(fileResourceOf(operation) ?? ""),
  );
}

/** Part of a transaction: the titles of drafts, by id, and the products. */
export async function readNames(database: LedgerDatabase, queries: LedgerQueries): Promise<RecordedNames> {
  const titles = await readRecords(database, queries, tables.draft_titles);
  return {
    titles: new Map(titles.map(({ draftId, title }) => [draftId, title])),
    publications: await readRecords(database, queries, tables.publications),
    duplicates: await readRecords(database, queries, tables.duplicates),
  };
}

const metaSchema = z.object({
  lineage: z.string(),
  serial: z.int(),
  service_origin: z.string().nullable(),
  workspace: z.string().nullable(),
  confirmed_at: z.int().nullable(),
});

type Meta = z.output<typeof metaSchema>;

/** Part of a transaction: the one row about the ledger itself. */
export async function readMeta(queries: LedgerQueries, location: string): Promise<Meta> {
  const row = await queries.selectFrom("meta").selectAll().executeTakeFirst();
  return parseRow(metaSchema, row, { location, table: "meta", key: "id 1" });
}

/** The service and the workspace that the ledger is bound to. */
export function ownerOf({ service_origin: serviceOrigin, workspace }: Meta): RecordedOwner {
  return {
    ...(serviceOrigin === null ? {} : { serviceOrigin }),
    ...(workspace === null ? {} : { workspace }),
  };
}
