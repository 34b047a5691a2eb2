import { randomBytes, randomUUID } from "node:crypto";
import { z } from "zod";
import { inTransaction, openDatabase, prepare, type SqliteDatabase } from "./database.ts";

/** Files and products with smaller ids existed before the sandbox; it makes the ids above, by uploads and publications. */
const FIRST_OWN_ID = 9_000_000_000;

/** Whether a file or a product existed before the sandbox started. */
export function existedBefore(id: number, known: ReadonlySet<number> | "any"): boolean {
  return known === "any" ? id > 0 && id < FIRST_OWN_ID : known.has(id);
}

/** A column that holds JSON. */
function json<Schema extends z.ZodType>(schema: Schema) {
  return z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema);
}

const AttachmentKind = z.enum(["product_file", "promotional_file"]);
const Attributes = z.record(z.string(), z.union([z.string(), z.boolean()])).readonly();

/** Attributes by the name they have in documents; one that was never set is absent. */
export type AttachmentAttributes = z.output<typeof Attributes>;

const AttachmentRow = z
  .object({
    /** Counts attachments; never used twice. */
    number: z.number(),
    draftId: z.number(),
    kind: AttachmentKind,
    fileId: z.number(),
    attributes: json(Attributes),
  })
  .readonly();

/** A file attached to a draft. */
export type Attachment = z.output<typeof AttachmentRow>;

/** A file is attached at most once to a draft as one kind. */
export type AttachmentKey = Pick<Attachment, "draftId" | "kind" | "fileId">;

function openAttachments(database: SqliteDatabase) {
  const columns = `number, draft_id AS "draftId", kind, file_id AS "fileId", attributes`;
  const at = "draft_id = ? AND kind = ? AND file_id = ?";
  const query = (sql: string) => prepare(database, sql, AttachmentRow);
  const insert = query(
    `INSERT INTO attachment (draft_id, kind, file_id, attributes) VALUES (?, ?, ?, ?)
     ON CONFLICT DO NOTHING RETURNING ${columns}`,
  );
  const set = (value: string) =>
    query(`UPDATE attachment SET attributes = ${value} WHERE ${at} RETURNING ${columns}`);
  const patch = set("json_patch(attributes, ?)");
  const replace = set("?");
  const remove = query(`DELETE FROM attachment WHERE ${at} RETURNING ${columns}`);
  const select = query(`SELECT ${columns} FROM attachment WHERE ${at}`);
  const all = query(`SELECT ${columns} FROM attachment ORDER BY number`);
  const ofDraft = query(`SELECT ${columns} FROM attachment WHERE draft_id = ? ORDER BY number`);
  const keyOf = ({ draftId, kind, fileId }: AttachmentKey) => [draftId, kind, fileId];
  return {
    /** `undefined`: it is attached already. */
    add: (key: AttachmentKey, attributes: AttachmentAttributes) =>
      insert(...keyOf(key), JSON.stringify(attributes))[0],
    find: (key: AttachmentKey) => select(...keyOf(key))[0],
    /** Sets the named attributes and keeps the others; `undefined`: it is not attached. */
    change: (key: AttachmentKey, attributes: AttachmentAttributes) =>
      patch(JSON.stringify(attributes), ...keyOf(key))[0],
    /** Sets the named attributes and removes the others; `undefined`: it is not attached. */
    replace: (key: AttachmentKey, attributes: AttachmentAttributes) =>
      replace(JSON.stringify(attributes), ...keyOf(key))[0],
    /** Whether it was attached. */
    remove: (key: AttachmentKey) => remove(...keyOf(key)).length > 0,
    /** The attachments of one draft, or of all, in the order of attaching. */
    list: (draftId?: number) => (draftId === undefined ? all() : ofDraft(draftId)),
  };
}

const UploadRow = z
  .object({
    id: z.string(),
    uploadKey: z.string().nullable(),
    /** Why it will fail, decided when it is registered; `null`: it will succeed. */
    failure: z.string().nullable(),
    /** Epoch milliseconds. */
    createdAt: z.number(),
    /** The file that it makes. */
    fileId: z.number(),
  })
  .readonly();

/** A registered upload. Its status follows from its age. */
export type Upload = z.output<typeof UploadRow>;

function openUploads(database: SqliteDatabase) {
  const columns = `id, upload_key AS "uploadKey", failure, created_at AS "createdAt", number + ${FIRST_OWN_ID} AS "fileId"`;
  const query = (sql: string) => prepare(database, sql, UploadRow);
  const insert = query(
    `INSERT INTO upload (id, upload_key, failure, created_at) VALUES (?, ?, ?, ?) RETURNING ${columns}`,
  );
  const byId = query(`SELECT ${columns} FROM upload WHERE id = ?`);
  const byNumber = query(`SELECT ${columns} FROM upload WHERE number = ?`);
  const all = query(`SELECT ${columns} FROM upload ORDER BY number`);
  return {
    add: ({ uploadKey, failure, createdAt }: Omit<Upload, "id" | "fileId">) =>
      inserted(insert(randomUUID(), uploadKey, failure, createdAt)),
    find: (id: string) => byId(id)[0],
    findByFile: (fileId: number) => byNumber(fileId - FIRST_OWN_ID)[0],
    list: () => all(),
  };
}

const ProductRow = z
  .object({
    id: z.number(),
    /** `null`: the product existed before the sandbox. */
    draftId: z.number().nullable(),
    /** The product it was duplicated from. */
    duplicateOf: z.number().nullable(),
    /** Epoch milliseconds; `null`: the product existed before the sandbox. */
    publishedAt: z.number().nullable(),
    /** The files that were attached to the draft when it was published. */
    files: json(
      z
        .array(z.object({ kind: AttachmentKind, fileId: z.number(), attributes: Attributes }).readonly())
        .readonly(),
    ),
  })
  .readonly();

/** A product. */
export type Product = z.output<typeof ProductRow>;

function openProducts(database: SqliteDatabase) {
  const columns = `number + ${FIRST_OWN_ID} AS id, draft_id AS "draftId", duplicate_of AS "duplicateOf", published_at AS "publishedAt", files`;
  const query = (sql: string) => prepare(database, sql, ProductRow);
  const insert = query(
    `INSERT INTO product (draft_id, duplicate_of, published_at, files) VALUES (?, ?, ?, ?) RETURNING ${columns}`,
  );
  const byNumber = query(`SELECT ${columns} FROM product WHERE number = ?`);
  const all = query(`SELECT ${columns} FROM product ORDER BY number`);
  const removed = database.prepare("SELECT id FROM removed_product WHERE id = ?");
  const remove = database.prepare("INSERT INTO removed_product (id) VALUES (?) ON CONFLICT DO NOTHING");
  const drop = database.prepare("DELETE FROM product WHERE number = ?");
  return {
    add: ({ draftId, duplicateOf, publishedAt, files }: Omit<Product, "id">) =>
      inserted(insert(draftId, duplicateOf, publishedAt, JSON.stringify(files))),
    /** One that the sandbox made. */
    find: (id: number) => byNumber(id - FIRST_OWN_ID)[0],
    /** Removes a product, also one that existed before. No call does that. */
    remove(id: number): void {
      remove.run(id);
      drop.run(id - FIRST_OWN_ID);
    },
    isRemoved: (id: number) => removed.get(id) !== undefined,
    list: () => all(),
  };
}

const SessionRow = z
  .object({
    accessKey: z.string(),
    secretKey: z.string(),
    token: z.string(),
    /** The session is valid for keys with this prefix only. */
    keyPrefix: z.string(),
    /** Epoch milliseconds. */
    expiresAt: z.number(),
  })
  .readonly();

/** Temporary credentials of object storage. */
export type StorageSession = z.output<typeof SessionRow>;

/** All sessions have the same key prefix, so that a multipart upload can continue with renewed credentials. */
function openSessions(database: SqliteDatabase) {
  const columns = `access_key AS "accessKey", secret_key AS "secretKey", token, key_prefix AS "keyPrefix", expires_at AS "expiresAt"`;
  database
    .prepare("INSERT INTO key_prefix (only_one, prefix) VALUES (1, ?) ON CONFLICT DO NOTHING")
    .run(`uploads/${randomBytes(6).toString("hex")}/`);
  const insert = prepare(
    database,
    `INSERT INTO storage_session (access_key, secret_key, token, key_prefix, expires_at)
     SELECT ?, ?, ?, prefix, ? FROM key_prefix RETURNING ${columns}`,
    SessionRow,
  );
  const select = prepare(database, `SELECT ${columns} FROM storage_session WHERE access_key = ?`, SessionRow);
  return {
    open: (expiresAt: number) =>
      inserted(
        insert(
          `ASIA${randomBytes(8).toString("hex").toUpperCase()}`,
          randomBytes(30).toString("base64"),
          randomBytes(48).toString("base64"),
          Math.ceil(expiresAt),
        ),
      ),
    find: (accessKey: string) => select(accessKey)[0],
  };
}

const ObjectRow = z
  .object({
    key: z.string(),
    /** Without quotes. */
    etag: z.string(),
    size: z.number(),
    contentType: z.string(),
    /** Epoch milliseconds. */
    modifiedAt: z.number(),
    /** Its bytes are those of its blobs, in this order. */
    blobs: json(z.array(z.string())),
  })
  .readonly();

const MultipartRow = z.object({ uploadId: z.string(), key: z.string(), contentType: z.string() }).readonly();
const PartRow = z
  .object({ number: z.number(), etag: z.string(), size: z.number(), blob: z.string() })
  .readonly();

/** An object in the bucket. */
export type StoredObject = z.output<typeof ObjectRow>;
/** A multipart upload that is neither completed nor aborted. */
export type OpenMultipart = z.output<typeof MultipartRow>;
/** An uploaded part. */
export type StoredPart = z.output<typeof PartRow>;

/** Changes return the blobs that are no longer used, for the caller to remove; `undefined`: the upload has ended. */
function openObjects(database: SqliteDatabase) {
  const columns = "key, etag, size, content_type, modified_at, blobs";
  const read = `SELECT key, etag, size, content_type AS "contentType", modified_at AS "modifiedAt", blobs FROM object`;
  const find = prepare(database, `${read} WHERE key = ?`, ObjectRow);
  const all = prepare(database, `${read} ORDER BY key`, ObjectRow);
  const write = database.prepare(`INSERT OR REPLACE INTO object (${columns}) VALUES (?, ?, ?, ?, ?, ?)`);
  const open = database.prepare("INSERT INTO multipart (upload_id, key, content_type) VALUES (?, ?, ?)");
  const findOpen = prepare(
    database,
    `SELECT upload_id AS "uploadId", key, content_type AS "contentType" FROM multipart WHERE upload_id = ?`,
    MultipartRow,
  );
  const parts = prepare(
    database,
    "SELECT number, etag, size, blob FROM part WHERE upload_id = ? ORDER BY number",
    PartRow,
  );
  const writePart = database.prepare(
    "INSERT OR REPLACE INTO part (upload_id, number, etag, size, blob) VALUES (?, ?, ?, ?, ?)",
  );
  const dropParts = database.prepare("DELETE FROM part WHERE upload_id = ?");
  const dropOpen = database.prepare("DELETE FROM multipart WHERE upload_id = ?");

  const put = ({ key, etag, size, contentType, modifiedAt, blobs }: StoredObject): string[] => {
    const replaced = find(key)[0]?.blobs ?? [];
    write.run(key, etag, size, contentType, modifiedAt, JSON.stringify(blobs));
    return replaced;
  };
  const end = (uploadId: string): string[] => {
    const blobs = parts(uploadId).map((part) => part.blob);
    dropParts.run(uploadId);
    dropOpen.run(uploadId);
    return blobs;
  };
  return {
    find: (key: string) => find(key)[0],
    list: () => all(),
    put: (object: StoredObject) => inTransaction(database, () => put(object)),
    openMultipart: ({ uploadId, key, contentType }: OpenMultipart) =>
      void open.run(uploadId, key, contentType),
    findMultipart: (uploadId: string) => findOpen(uploadId)[0],
    /** In the order of their numbers. */
    parts: (uploadId: string) => parts(uploadId),
    putPart: (uploadId: string, { number, etag, size, blob }: StoredPart) =>
      inTransaction(database, () => {
        if (findOpen(uploadId).length === 0) return undefined;
        const replaced = parts(uploadId).filter((part) => part.number === number);
        writePart.run(uploadId, number, etag, size, blob);
        return replaced.map((part) => part.blob);
      }),
    /** Makes an object of some of the parts. */
    complete: (uploadId: string, object: StoredObject) =>
      inTransaction(database, () => {
        if (findOpen(uploadId).length === 0) return undefined;
        const unused = end(uploadId).filter((blob) => !object.blobs.includes(blob));
        return [...unused, ...put(object)];
      }),
    abort: (uploadId: string) => inTransaction(database, () => end(uploadId)),
  };
}

function inserted<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error("SQLite returned no row for an INSERT … RETURNING.");
  return row;
}

/** All data of the sandbox but the bytes of objects. */
export type Store = ReturnType<typeof openStore>;

/**
 * Opens the store in a SQLite file, or in memory.
 *
 * @throws SandboxError `store-unusable`.
 */
export function openStore(file: string | undefined) {
  const database = openDatabase(file);
  return {
    attachments: openAttachments(database),
    uploads: openUploads(database),
    products: openProducts(database),
    sessions: openSessions(database),
    objects: openObjects(database),
    close(): void {
      database.close();
    },
  };
}
