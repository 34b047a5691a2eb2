import type { LedgerExport } from "./ledger-export.ts";

/** Of the document that `state export` writes; rises when a reader of it would have to change. */
export const exportVersion = 4;

/** Members whose names are other ones in the document. Version 1 had them as they are here. */
const documentNames: Readonly<Record<string, string>> = {
  draftId: "draft_id",
  fileId: "file_id",
  fileKind: "file_kind",
  finishedAt: "finished_at",
  planId: "plan_id",
  productId: "product_id",
  runId: "run_id",
  sourceProductId: "source_product_id",
  startedAt: "started_at",
  uploadId: "upload_id",
  uploadKey: "upload_key",
};

const ownNames: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(documentNames).map(([own, written]) => [written, own]),
);

/** Members of a record that are records themselves. What stands in others (attributes, totals) keeps its names. */
const nested: ReadonlySet<string> = new Set(["from", "intent"]);

/** The document of an export: the format's version, then its members, all in `snake_case`. */
export function exportDocument(exported: LedgerExport): Readonly<Record<string, unknown>> {
  return { format_version: exportVersion, ...renameLists(Object.entries(exported), documentNames) };
}

/** The members of a document by the names that {@link LedgerExport} has for them; nothing is checked. */
export function membersOf(document: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return renameLists(Object.entries(document), ownNames);
}

/** How a member that {@link LedgerExport} has is called in the document. */
export function documentNameOf(name: PropertyKey): string {
  return nameIn(documentNames, String(name));
}

function nameIn(names: Readonly<Record<string, string>>, name: string): string {
  return (Object.hasOwn(names, name) ? names[name] : undefined) ?? name;
}

function renameLists(
  members: readonly (readonly [string, unknown])[],
  names: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    members.map(([list, value]) => [
      list,
      Array.isArray(value) ? value.map((record: unknown) => renameMembers(record, names)) : value,
    ]),
  );
}

function renameMembers(record: unknown, names: Readonly<Record<string, string>>): unknown {
  if (typeof record !== "object" || record === null || Array.isArray(record)) return record;
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      nameIn(names, name),
      nested.has(name) ? renameMembers(value, names) : value,
    ]),
  );
}
