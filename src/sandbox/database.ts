import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import Database from "libsql";
import { z } from "zod";
import { SandboxError } from "./errors.ts";

/** One open SQLite database. */
export type SqliteDatabase = Database.Database;

const SCHEMA_VERSION = 1;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS attachment (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    draft_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    file_id INTEGER NOT NULL,
    attributes TEXT NOT NULL,
    UNIQUE (draft_id, kind, file_id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS upload (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    upload_key TEXT,
    failure TEXT,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS product (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    draft_id INTEGER,
    duplicate_of INTEGER,
    published_at INTEGER NOT NULL,
    files TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS removed_product (id INTEGER PRIMARY KEY) STRICT;
  CREATE TABLE IF NOT EXISTS key_prefix (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), prefix TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS storage_session (
    access_key TEXT PRIMARY KEY,
    secret_key TEXT NOT NULL,
    token TEXT NOT NULL,
    key_prefix TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS object (
    key TEXT PRIMARY KEY,
    etag TEXT NOT NULL,
    size INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    blobs TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS multipart (
    upload_id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    content_type TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS part (
    upload_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    etag TEXT NOT NULL,
    size INTEGER NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (upload_id, number)
  ) STRICT;
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Opens the sandbox's database, or one in memory. WAL with a busy timeout, so that two processes may have it open.
 * `synchronous=NORMAL`: a killed process loses nothing, and a sandbox need not survive a power cut.
 *
 * @throws SandboxError `store-unusable` when the file is not a database, was made by a newer version, or cannot be opened.
 */
export function openDatabase(file: string | undefined): SqliteDatabase {
  try {
    if (file !== undefined) mkdirSync(dirname(file), { recursive: true });
    const database = new Database(file ?? ":memory:", { timeout: 10_000 });
    database.exec("PRAGMA busy_timeout = 10000");
    const [found] = prepare(database, "PRAGMA user_version", z.object({ user_version: z.number() }))();
    if (found !== undefined && found.user_version > SCHEMA_VERSION) {
      database.close();
      throw new Error(`it has schema ${found.user_version}, this version knows ${SCHEMA_VERSION}`);
    }
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = NORMAL");
    inTransaction(database, () => database.exec(SCHEMA));
    return database;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SandboxError({
      code: "store-unusable",
      message: `The sandbox cannot use its database ${file ?? "in memory"}: ${reason}`,
      hint: "Name another file with --db, or remove this one to start over.",
      cause,
    });
  }
}

/** Runs a step as the only writer, as a whole or not at all. */
export function inTransaction<Result>(database: SqliteDatabase, step: () => Result): Result {
  return database.transaction(step).immediate();
}

/** Prepares a statement once; each call returns its rows, parsed. */
export function prepare<Row extends z.ZodType>(
  database: SqliteDatabase,
  sql: string,
  row: Row,
): (...parameters: unknown[]) => z.output<Row>[] {
  const statement = database.prepare(sql);
  return (...parameters) => statement.all(...parameters).map((found) => row.parse(found));
}
