import { compareText } from "../model/address.ts";
import type { ProductRef } from "../model/desired.ts";
import {
  confirmations,
  type Provenance,
  type RecordedAttachment,
  type RecordedDuplicate,
  type RecordedLook,
  type RecordedObject,
  type RecordedPublication,
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
    const rows = await this.#scan("protected_drafts", 1, ["draft_id"]);
    return rows.map((row) => row.integer("draft_id")).sort((a, b) => a - b);
  }

  /** By address. */
  async attachments(): Promise<RecordedAttachment[]> {
    const rows = await this.#scan("attachments", 3, [
      "draft_id",
      "kind",
      "file_id",
      "address",
      "attributes",
      "sha256",
      "confirmed_by",
      "confirmed_at",
    ]);
    const parsed = new Map<string, Attributes>();
    return rows.map((row) => attachmentOf(row, parsed)).sort((a, b) => compareText(a.address, b.address));
  }

  /** By draft, then revision. */
  async publications(): Promise<RecordedPublication[]> {
    const rows = await this.#scan("publications", 2, [
      "draft_id",
      "revision",
      "product_id",
      "confirmed_by",
      "confirmed_at",
    ]);
    return rows
      .map((row) => ({
        draftId: row.integer("draft_id"),
        revision: row.integer("revision"),
        productId: row.integer("product_id"),
        provenance: provenanceOf(row),
      }))
      .sort((a, b) => a.draftId - b.draftId || a.revision - b.revision);
  }

  /** By name. */
  async duplicates(): Promise<RecordedDuplicate[]> {
    const rows = await this.#scan("duplicates", 1, [
      "name",
      "from_product_id",
      "from_draft_id",
      "source_product_id",
      "product_id",
      "confirmed_by",
      "confirmed_at",
    ]);
    return rows
      .map((row) => ({
        name: row.text("name"),
        from: productRefOf(row),
        sourceProductId: row.integer("source_product_id"),
        productId: row.integer("product_id"),
        provenance: provenanceOf(row),
      }))
      .sort((a, b) => compareText(a.name, b.name));
  }

  /** By upload id. */
  async uploads(): Promise<RecordedUpload[]> {
    const rows = await this.#scan("uploads", 1, [
      "upload_id",
      "upload_key",
      "source",
      "sha256",
      "size",
      "status",
      "file_id",
      "registered_at",
    ]);
    return rows.map(uploadOf).sort((a, b) => compareText(a.uploadId, b.uploadId));
  }

  /** By key. */
  async storedObjects(): Promise<RecordedObject[]> {
    const rows = await this.#scan("stored_objects", 1, [
      "upload_key",
      "source",
      "sha256",
      "size",
      "stored_at",
    ]);
    return rows
      .map((row) => ({
        uploadKey: row.text("upload_key"),
        source: row.text("source"),
        sha256: row.text("sha256"),
        size: row.integer("size"),
        at: row.integer("stored_at"),
      }))
      .sort((a, b) => compareText(a.uploadKey, b.uploadKey));
  }

  /** By resource. */
  async looks(): Promise<RecordedLook[]> {
    const rows = await this.#scan("looks", 1, ["resource", "looked_at"]);
    return rows
      .map((row) => ({ resource: row.text("resource"), at: row.integer("looked_at") }))
      .sort((a, b) => compareText(a.resource, b.resource));
  }

  async #scan<Table extends keyof LedgerTables>(
    table: Table,
    keyLength: number,
    columns: readonly (keyof LedgerTables[Table] & string)[],
  ): Promise<StoredRow[]> {
    const shape = { location: this.#database.location, table, columns, keyLength };
    const rows = await this.#database.scan(this.#queries, table, columns);
    return rows.map((values) => new StoredRow(shape, values));
  }
}

/** Most attachments of a catalogue share a few sets of attributes: each text is parsed once. */
function attachmentOf(row: StoredRow, parsed: Map<string, Attributes>): RecordedAttachment {
  const text = row.text("attributes");
  const attributes = parsed.get(text) ?? row.json("attributes", attributesSchema);
  parsed.set(text, attributes);
  const sha256 = row.optionalText("sha256");
  return {
    draftId: row.integer("draft_id"),
    kind: row.oneOf("kind", fileKinds),
    fileId: row.integer("file_id"),
    address: row.text("address"),
    attributes,
    ...(sha256 === undefined ? {} : { sha256 }),
    provenance: provenanceOf(row),
  };
}

const uploadStatuses = ["pending", "success", "failed"] as const;

function uploadOf(row: StoredRow): RecordedUpload {
  const source = row.optionalText("source");
  const sha256 = row.optionalText("sha256");
  const size = row.optionalInteger("size");
  const fileId = row.optionalInteger("file_id");
  return {
    uploadId: row.text("upload_id"),
    uploadKey: row.text("upload_key"),
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
