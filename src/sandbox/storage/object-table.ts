import { z } from "zod";
import { inTransaction, prepareRow, prepareRows, type SqliteDatabase } from "../store/database.ts";
import { jsonText } from "../store/json-text.ts";

/** An object in the bucket. Its bytes are those of its blobs, one after the other. */
export interface StoredObject {
  readonly key: string;
  /** Without quotes. */
  readonly etag: string;
  readonly size: number;
  readonly contentType: string;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
  readonly blobs: readonly string[];
}

/** A multipart upload that is neither completed nor aborted. */
export interface OpenMultipart {
  readonly uploadId: string;
  readonly key: string;
  readonly contentType: string;
}

/** A part that was uploaded. */
export interface StoredPart {
  readonly number: number;
  readonly etag: string;
  readonly size: number;
  readonly blob: string;
}

/** What is in the bucket. Each step answers the blobs that nothing refers to any more, to be removed. */
export interface ObjectTable {
  find(key: string): StoredObject | undefined;
  put(object: StoredObject): string[];
  list(): StoredObject[];
  openMultipart(upload: OpenMultipart): void;
  findMultipart(uploadId: string): OpenMultipart | undefined;
  /** `undefined` when the upload has ended meanwhile. */
  putPart(uploadId: string, part: StoredPart): string[] | undefined;
  /** In the order of their numbers. */
  parts(uploadId: string): StoredPart[];
  /** Makes an object of some of the parts; `undefined` when the upload has ended meanwhile. */
  complete(uploadId: string, object: StoredObject): string[] | undefined;
  abort(uploadId: string): string[];
}

const ObjectRow = z
  .object({
    key: z.string(),
    etag: z.string(),
    size: z.number(),
    content_type: z.string(),
    modified_at: z.number(),
    blobs: jsonText(z.array(z.string())),
  })
  .transform(
    ({ content_type: contentType, modified_at: modifiedAt, ...row }): StoredObject => ({
      ...row,
      contentType,
      modifiedAt,
    }),
  );

const MultipartRow = z
  .object({ upload_id: z.string(), key: z.string(), content_type: z.string() })
  .transform(
    (row): OpenMultipart => ({ uploadId: row.upload_id, key: row.key, contentType: row.content_type }),
  );

const PartRow = z.object({ number: z.number(), etag: z.string(), size: z.number(), blob: z.string() });

/** Opens the bucket of a database. */
export function openObjectTable(database: SqliteDatabase): ObjectTable {
  const columns = "key, etag, size, content_type, modified_at, blobs";
  const find = prepareRow(database, `SELECT ${columns} FROM object WHERE key = ?`, ObjectRow);
  const all = prepareRows(database, `SELECT ${columns} FROM object ORDER BY key`, ObjectRow);
  const replace = database.prepare(`INSERT OR REPLACE INTO object (${columns}) VALUES (?, ?, ?, ?, ?, ?)`);
  const open = database.prepare("INSERT INTO multipart (upload_id, key, content_type) VALUES (?, ?, ?)");
  const findOpen = prepareRow(
    database,
    "SELECT upload_id, key, content_type FROM multipart WHERE upload_id = ?",
    MultipartRow,
  );
  const parts = prepareRows(
    database,
    "SELECT number, etag, size, blob FROM part WHERE upload_id = ? ORDER BY number",
    PartRow,
  );
  const replacePart = database.prepare(
    "INSERT OR REPLACE INTO part (upload_id, number, etag, size, blob) VALUES (?, ?, ?, ?, ?)",
  );
  const dropParts = database.prepare("DELETE FROM part WHERE upload_id = ?");
  const dropOpen = database.prepare("DELETE FROM multipart WHERE upload_id = ?");

  const put = (object: StoredObject): string[] => {
    const before = find(object.key)?.blobs ?? [];
    replace.run(
      object.key,
      object.etag,
      object.size,
      object.contentType,
      object.modifiedAt,
      JSON.stringify(object.blobs),
    );
    return [...before];
  };
  const end = (uploadId: string): string[] => {
    const blobs = parts(uploadId).map((part) => part.blob);
    dropParts.run(uploadId);
    dropOpen.run(uploadId);
    return blobs;
  };
  return {
    find: (key) => find(key),
    put: (object) => inTransaction(database, () => put(object)),
    list: () => all(),
    openMultipart: (upload) => void open.run(upload.uploadId, upload.key, upload.contentType),
    findMultipart: (uploadId) => findOpen(uploadId),
    putPart: (uploadId, part) =>
      inTransaction(database, () => {
        if (findOpen(uploadId) === undefined) return undefined;
        const before = parts(uploadId).filter((known) => known.number === part.number);
        replacePart.run(uploadId, part.number, part.etag, part.size, part.blob);
        return before.map((known) => known.blob);
      }),
    parts: (uploadId) => parts(uploadId),
    complete: (uploadId, object) =>
      inTransaction(database, () => {
        if (findOpen(uploadId) === undefined) return undefined;
        const unused = end(uploadId).filter((blob) => !object.blobs.includes(blob));
        return [...unused, ...put(object)];
      }),
    abort: (uploadId) => inTransaction(database, () => end(uploadId)),
  };
}
