import { randomBytes } from "node:crypto";
import { z } from "zod";
import { prepareRow, type SqliteDatabase } from "./database.ts";

/** Credentials of object storage for a while. */
export interface StorageSession {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly token: string;
  /** They are good for keys below it, and no others. */
  readonly keyPrefix: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** The storage sessions that were handed out. */
export interface StorageSessions {
  open(expiresAt: number): StorageSession;
  find(accessKey: string): StorageSession | undefined;
}

const SessionRow = z
  .object({
    access_key: z.string(),
    secret_key: z.string(),
    token: z.string(),
    key_prefix: z.string(),
    expires_at: z.number(),
  })
  .transform(
    (row): StorageSession => ({
      accessKey: row.access_key,
      secretKey: row.secret_key,
      token: row.token,
      keyPrefix: row.key_prefix,
      expiresAt: row.expires_at,
    }),
  );

/**
 * Opens the storage sessions of a database. All of them share one key prefix, so that a multipart upload can go on
 * with credentials that were renewed on the way.
 */
export function openStorageSessions(database: SqliteDatabase): StorageSessions {
  database
    .prepare("INSERT INTO key_prefix (only_one, prefix) VALUES (1, ?) ON CONFLICT DO NOTHING")
    .run(`uploads/${randomBytes(6).toString("hex")}/`);
  const prefixes = prepareRow(database, "SELECT prefix FROM key_prefix", z.object({ prefix: z.string() }));
  const columns = "access_key, secret_key, token, key_prefix, expires_at";
  const insert = prepareRow(
    database,
    `INSERT INTO storage_session (${columns}) VALUES (?, ?, ?, ?, ?) RETURNING ${columns}`,
    SessionRow,
  );
  const select = prepareRow(
    database,
    `SELECT ${columns} FROM storage_session WHERE access_key = ?`,
    SessionRow,
  );
  return {
    open(expiresAt) {
      const row = insert(
        `ASIA${randomBytes(8).toString("hex").toUpperCase()}`,
        randomBytes(30).toString("base64"),
        randomBytes(48).toString("base64"),
        prefixes()?.prefix,
        Math.ceil(expiresAt),
      );
      if (row === undefined) throw new Error("SQLite answered no row to an INSERT … RETURNING.");
      return row;
    },
    find: (accessKey) => select(accessKey),
  };
}
