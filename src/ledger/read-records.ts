import { compareText } from "../model/address.ts";
import type { ProductRef } from "../model/desired.ts";
import {
  confirmations,
  type Provenance,
  type RecordedAttachment,
  type RecordedDuplicate,
  type RecordedObject,
  type RecordedPublication,
  type RecordedRefresh,
  type RecordedUpload,
} from "../model/recorded.ts";
import { type Attributes, fileKinds } from "../model/resource.ts";
import type { LedgerDatabase } from "./ledger-database.ts";
import type { LedgerQueries, LedgerTables } from "./schema.ts";
import { attributesSchema } from "./stored-json.ts";
import { StoredRow } from "./stored-row.ts";

/** Reads the records of a ledger inside one transaction. Every list is in an order that holds on every database. */
export class RecordReader {
  readonly #database: LedgerDatabase;
  readonly #queries: LedgerQueries;

  constructor(database: LedgerDatabase, queries: LedgerQueries) {
    this.#database = database;
    this.#queries = queries;
  }

  /** By id. */
  async protectedDrafts(): Promise<number[]> {
    const ids = await this.#scan("protected_drafts", 1, ["draft_id"], (row) => row.integer("draft_id"));
    return ids.sort((a, b) => a - b);
  }

  /** By id. */
  async maybePublished(): Promise<[draftId: number, at: number][]> {
    const columns = ["draft_id", "found_at"] as const;
    const drafts = await this.#scan("maybe_published_drafts", 1, columns, (row): [number, number] => [
      row.integer("draft_id"),
      row.integer("found_at"),
    ]);
    return drafts.sort(([a], [b]) => a - b);
  }

  /** By address. */
  async attachments(): Promise<RecordedAttachment[]> {
    const columns = [
      "draft_id",
      "kind",
      "file_id",
      "address",
      "attributes",
      "sha256",
      "replaced",
      "confirmed_by",
      "confirmed_at",
    ] as const;
    const parsed = new Map<string, Attributes>();
    const attachments = await this.#scan("attachments", 3, columns, (row) => attachmentOf(row, parsed));
    return attachments.sort((a, b) => compareText(a.address, b.address));
  }

  /** By draft, then revision. */
  async publications(): Promise<RecordedPublication[]> {
    const columns = ["draft_id", "revision", "product_id", "confirmed_by", "confirmed_at"] as const;
    const publications = await this.#scan("publications", 2, columns, (row) => ({
      draftId: row.integer("draft_id"),
      revision: row.integer("revision"),
      productId: row.integer("product_id"),
      provenance: provenanceOf(row),
    }));
    return publications.sort((a, b) => a.draftId - b.draftId || a.revision - b.revision);
  }

  /** By name. */
  async duplicates(): Promise<RecordedDuplicate[]> {
    const columns = [
      "name",
      "from_product_id",
      "from_draft_id",
      "source_product_id",
      "product_id",
      "confirmed_by",
      "confirmed_at",
    ] as const;
    const duplicates = await this.#scan("duplicates", 1, columns, (row) => ({
      name: row.text("name"),
      from: productRefOf(row),
      sourceProductId: row.integer("source_product_id"),
      productId: row.integer("product_id"),
      provenance: provenanceOf(row),
    }));
    return duplicates.sort((a, b) => compareText(a.name, b.name));
  }

  /** By upload id. */
  async uploads(): Promise<RecordedUpload[]> {
    const columns = [
      "upload_id",
      "upload_key",
      "source",
      "sha256",
      "size",
      "status",
      "file_id",
      "registered_at",
    ] as const;
    const uploads = await this.#scan("uploads", 1, columns, uploadOf);
    return uploads.sort((a, b) => compareText(a.uploadId, b.uploadId));
  }

  /** By key. */
  async storedObjects(): Promise<RecordedObject[]> {
    const columns = ["upload_key", "source", "sha256", "size", "stored_at"] as const;
    const objects = await this.#scan("stored_objects", 1, columns, (row) => ({
      uploadKey: row.text("upload_key"),
      source: row.text("source"),
      sha256: row.text("sha256"),
      size: row.integer("size"),
      at: row.integer("stored_at"),
    }));
    return objects.sort((a, b) => compareText(a.uploadKey, b.uploadKey));
  }

  /** By resource. */
  async refreshes(): Promise<RecordedRefresh[]> {
    const refreshes = await this.#scan("refreshes", 1, ["resource", "refreshed_at"], (row) => ({
      resource: row.text("resource"),
      at: row.integer("refreshed_at"),
    }));
    return refreshes.sort((a, b) => compareText(a.resource, b.resource));
  }

  /** Makes a record of each row, as they come: rows that were all kept until the last one would be moved about in memory. */
  async #scan<T, Table extends keyof LedgerTables>(
    table: Table,
    keyLength: number,
    columns: readonly (keyof LedgerTables[Table] & string)[],
    make: (row: StoredRow) => T,
  ): Promise<T[]> {
    const shape = { location: this.#database.location, table, columns, keyLength };
    const records: T[] = [];
    await this.#database.scan(this.#queries, table, columns, (rows) => {
      for (const values of rows) records.push(make(new StoredRow(shape, values)));
    });
    return records;
  }
}

function attachmentOf(row: StoredRow, parsed: Map<string, Attributes>): RecordedAttachment {
  const kind = row.oneOf("kind", fileKinds);
  const attachment = {
    draftId: row.integer("draft_id"),
    kind,
    fileId: row.integer("file_id"),
    address: row.text("address"),
    attributes:
      kind === "product_files" ? sharedAttributes(row, parsed) : row.json("attributes", attributesSchema),
    provenance: provenanceOf(row),
  };
  const sha256 = row.optionalText("sha256");
  const isReplaced = row.integer("replaced") === 1;
  if (sha256 === undefined && !isReplaced) return attachment;
  return {
    ...attachment,
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(isReplaced ? { replaced: true } : {}),
  };
}

/** Most product files of a catalogue share a few sets of attributes: each text is parsed once. Prose is hardly ever shared. */
function sharedAttributes(row: StoredRow, parsed: Map<string, Attributes>): Attributes {
  const text = row.text("attributes");
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const attributes = row.json("attributes", attributesSchema);
  parsed.set(text, attributes);
  return attributes;
}

const uploadStatuses = ["pending", "success", "failed"] as const;

function uploadOf(row: StoredRow): RecordedUpload {
  const uploadKey = row.text("upload_key");
  const source = row.optionalText("source");
  const sha256 = row.optionalText("sha256");
  const size = row.optionalInteger("size");
  const fileId = row.optionalInteger("file_id");
  return {
    uploadId: row.text("upload_id"),
    ...(uploadKey === "" ? {} : { uploadKey }),
    ...(source === undefined ? {} : { source }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(size === undefined ? {} : { size }),
    status: row.oneOf("status", uploadStatuses),
    ...(fileId === undefined ? {} : { fileId }),
    at: row.integer("registered_at"),
  };
}

function provenanceOf(row: StoredRow): Provenance {
  return { by: row.oneOf("confirmed_by", confirmations), at: row.integer("confirmed_at") };
}

function productRefOf(row: StoredRow): ProductRef {
  const draftId = row.optionalInteger("from_draft_id");
  return draftId === undefined
    ? { by: "product_id", productId: row.integer("from_product_id") }
    : { by: "draft", draftId };
}
