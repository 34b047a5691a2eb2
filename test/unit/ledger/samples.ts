import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import pg from "pg";
import { inject, onTestFinished } from "vitest";
import { openLedger, type StateStore } from "../../../src/ledger/open-ledger.ts";
import { isPostgresLocation } from "../../../src/ledger/postgres/postgres-location.ts";
import { type Clock, systemClock } from "../../../src/model/ports.ts";
import type { ProcessTable } from "../../../src/model/process.ts";
import type { LockPlace } from "./ledger-lock-suite.ts";

/** A temporary folder, removed after the test. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "draftsync-ledger-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The location of a ledger in a new schema, which is dropped after the test. */
export function freshSchema(): string {
  const url = new URL(inject("databaseUrl"));
  const schema = `test_${randomBytes(8).toString("hex")}`;
  url.searchParams.set("schema", schema);
  onTestFinished(() => askServer(`drop schema if exists ${schema} cascade`).then(() => {}));
  return url.href;
}

/** The schema in a location. */
export function schemaOf(location: string): string {
  return new URL(location).searchParams.get("schema") ?? "";
}

/** Runs statements at the server as a superuser; returns the rows of the last one. */
export async function askServer(text: string, location = inject("databaseUrl")): Promise<unknown[]> {
  const url = new URL(location);
  url.search = "";
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    const results: pg.QueryResult | pg.QueryResult[] = await client.query(text);
    return (Array.isArray(results) ? results.at(-1) : results)?.rows ?? [];
  } finally {
    await client.end();
  }
}

/** The password of every {@link freshRole}. */
export const rolePassword = "s3cr3t-p4ssw0rd";

/** A location with a new role that has `grants`; the role is dropped after the test. */
export async function freshRole(
  grants: (role: string, schema: string) => string = () => "",
  location = freshSchema(),
): Promise<string> {
  const role = `${schemaOf(location)}_role`;
  await askServer(`create role ${role} login password '${rolePassword}'`);
  onTestFinished(() => askServer(`drop owned by ${role} cascade; drop role ${role}`).then(() => {}));
  await askServer(grants(role, schemaOf(location)));
  const url = new URL(location);
  url.username = role;
  url.password = rolePassword;
  return url.href;
}

/** A new location for a ledger in each database. */
export const databases: readonly { readonly name: string; readonly locate: () => string }[] = [
  { name: "SQLite", locate: () => join(freshFolder(), "deep", "state.db") },
  { name: "PostgreSQL", locate: freshSchema },
];

/** Opens a ledger that is closed after the test. */
export async function openForTest(
  location: string,
  clock: Clock = systemClock,
  processes?: ProcessTable,
): Promise<StateStore> {
  const ledger = await openLedger({ location, clock, ...(processes === undefined ? {} : { processes }) });
  onTestFinished(() => ledger.close());
  return ledger;
}

/** A ledger with direct access to its lock and rate reservations. */
export function lockPlace(location: string): LockPlace {
  return {
    open: (processes) => openForTest(location, systemClock, processes),
    execute: (statement) => executeIn(location, statement),
  };
}

/** Runs a statement on the tables of a ledger's lock or rate reservations. */
export async function executeIn(location: string, statement: string): Promise<void> {
  if (isPostgresLocation(location)) {
    await askServer(statement.replace(/leases|rate_reservations|rate_pauses/, `${schemaOf(location)}.$&`));
    return;
  }
  const database = new Database(location);
  database.exec(statement);
  database.close();
}
