import { randomUUID } from "node:crypto";
import { z } from "zod";
import { FIRST_OWN_ID } from "../id-ranges.ts";
import { prepareRow, prepareRows, type SqliteDatabase } from "./database.ts";

/** An upload that was registered. Its status follows from its age. */
export interface Upload {
  readonly id: string;
  readonly uploadKey: string | null;
  /** Why it will end failed, decided when it was registered; `null` when it will succeed. */
  readonly failure: string | null;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** The file it makes, known to clients once it succeeded. */
  readonly fileId: number;
}

/** The uploads that were registered. */
export interface Uploads {
  add(upload: { uploadKey: string | null; failure: string | null; createdAt: number }): Upload;
  find(id: string): Upload | undefined;
  findByFile(fileId: number): Upload | undefined;
  list(): Upload[];
}

const COLUMNS = "number, id, upload_key, failure, created_at";

const UploadRow = z
  .object({
    number: z.number(),
    id: z.string(),
    upload_key: z.string().nullable(),
    failure: z.string().nullable(),
    created_at: z.number(),
  })
  .transform(
    (row): Upload => ({
      id: row.id,
      uploadKey: row.upload_key,
      failure: row.failure,
      createdAt: row.created_at,
      fileId: FIRST_OWN_ID + row.number,
    }),
  );

/** Opens the uploads of a database. */
export function openUploads(database: SqliteDatabase): Uploads {
  const insert = prepareRow(
    database,
    `INSERT INTO upload (id, upload_key, failure, created_at) VALUES (?, ?, ?, ?) RETURNING ${COLUMNS}`,
    UploadRow,
  );
  const byId = prepareRow(database, `SELECT ${COLUMNS} FROM upload WHERE id = ?`, UploadRow);
  const byNumber = prepareRow(database, `SELECT ${COLUMNS} FROM upload WHERE number = ?`, UploadRow);
  const all = prepareRows(database, `SELECT ${COLUMNS} FROM upload ORDER BY number`, UploadRow);
  return {
    add(upload) {
      const row = insert(randomUUID(), upload.uploadKey, upload.failure, upload.createdAt);
      if (row === undefined) throw new Error("SQLite answered no row to an INSERT … RETURNING.");
      return row;
    },
    find: (id) => byId(id),
    findByFile: (fileId) => byNumber(fileId - FIRST_OWN_ID),
    list: () => all(),
  };
}
