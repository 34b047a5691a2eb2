import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, inject, test } from "vitest";
import { LedgerError } from "../../../src/ledger/ledger-error.ts";
import { openLedger } from "../../../src/ledger/open-ledger.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { attached, hurriedClock } from "./ledger-values.ts";
import {
  askServer,
  freshFolder,
  freshRole,
  freshSchema,
  openForTest,
  schemaOf,
  rolePassword as secret,
} from "./samples.ts";

/** A location with changed parts of the URL and of its query. */
function changed(
  parts: Partial<Pick<URL, "port" | "hostname" | "password" | "pathname">>,
  query: Readonly<Record<string, string>> = {},
): string {
  const url = Object.assign(new URL(freshSchema()), parts);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

describe("openLedger with PostgreSQL", () => {
  const cases: readonly [string, string, RegExp, () => string | Promise<string>][] = [
    [
      "a port where nothing listens",
      "ledger-unreachable",
      /cannot be reached.*ECONNREFUSED/,
      () => changed({ port: "1", password: secret }),
    ],
    [
      "a host that does not exist",
      "ledger-unreachable",
      /cannot be reached/,
      () => changed({ hostname: "no-such-host.invalid", password: secret }, { sslmode: "disable" }),
    ],
    [
      "a wrong password",
      "ledger-access-denied",
      /refuses this user or its password/,
      () => changed({ password: secret }),
    ],
    [
      "no password",
      "ledger-access-denied",
      /refuses this user or its password/,
      () => changed({ password: "" }),
    ],
    [
      "a database that does not exist",
      "ledger-unreadable",
      /names a database that does not exist/,
      () => changed({ pathname: "/no_such_database" }),
    ],
    [
      "a user without permission to create a schema",
      "ledger-unreadable",
      /may not be used by this user/,
      () => freshRole(),
    ],
    [
      "the schema of another program",
      "ledger-unreadable",
      /schema of another program: test_/,
      async () => {
        const location = freshSchema();
        const schema = schemaOf(location);
        await askServer(`create schema ${schema}; create table ${schema}.schema_migrations (version text)`);
        return location;
      },
    ],
    [
      "a server without TLS when TLS is required",
      "ledger-tls",
      /over TLS/,
      () => changed({}, { sslmode: "require" }),
    ],
    [
      "a missing certificate file",
      "ledger-tls",
      /certificates.*ENOENT/,
      () => changed({}, { sslmode: "require", sslrootcert: join(freshFolder(), "ca.pem") }),
    ],
  ];
  test.each(cases)("rejects %s", async (_, code, message, spoil) => {
    const location = await spoil();
    const thrown: unknown = await openLedger({ location, clock: hurriedClock() }).catch((error) => error);
    expect(thrown).toBeInstanceOf(LedgerError);
    expect(thrown).toMatchObject({
      code,
      message: expect.stringMatching(message),
      hint: expect.any(String),
    });
    expect(String(thrown)).toContain(schemaOf(location));
    for (const password of [secret, new URL(inject("databaseUrl")).password]) {
      expect(inspect(thrown, { depth: 9, showHidden: true })).not.toContain(password);
    }
  });

  test("rejects another program's schema without changing it", async () => {
    const location = freshSchema();
    const schema = schemaOf(location);
    await askServer(`create schema ${schema}; create table ${schema}.orders (id integer)`);
    await expect(openLedger({ location, clock: systemClock })).rejects.toThrow();
    const tables = await askServer(`select tablename from pg_tables where schemaname = '${schema}'`);
    expect(tables).toEqual([{ tablename: "orders" }]);
  });

  test("rejects a server whose certificate cannot be verified", async () => {
    const folder = freshFolder();
    writeFileSync(join(folder, "ca.pem"), "");
    const location = changed({}, { sslmode: "verify-full", sslrootcert: join(folder, "ca.pem") });
    await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject({ code: "ledger-tls" });
  });
});

describe("database user", () => {
  test("needs only permission to create schemas", async () => {
    const database = new URL(inject("databaseUrl")).pathname.slice(1);
    const location = await freshRole((role) => `grant create on database "${database}" to ${role}`);
    const ledger = await openForTest(location);
    await ledger.record([attached(1)]);
    expect((await ledger.load()).attachments).toHaveLength(1);
  });

  test("can create the ledger in a schema that it owns", async () => {
    const location = await freshRole((role, schema) => `create schema ${schema} authorization ${role}`);
    const ledger = await openForTest(location);
    await ledger.record([attached(1)]);
    expect((await ledger.load()).attachments).toHaveLength(1);
  });
});

test("keeps ledgers in two schemas of a database separate", async () => {
  const [one, other] = [await openForTest(freshSchema()), await openForTest(freshSchema())];
  await Promise.all([one.record([attached(1)]), other.record([attached(2)])]);
  expect((await one.load()).attachments.map(({ fileId }) => fileId)).toEqual([1]);
  expect((await other.load()).attachments.map(({ fileId }) => fileId)).toEqual([2]);
});

test("shows the password neither in the location nor in an export", async () => {
  const location = freshSchema();
  const { password } = new URL(location);
  const ledger = await openForTest(location);
  expect(ledger.location).toContain(schemaOf(location));
  expect(ledger.location).not.toContain(password);
  expect(JSON.stringify(await ledger.export())).not.toContain(password);
  expect(inspect(ledger, { depth: 4 })).not.toContain(password);
});

test("reports a damaged row with its column, and a missing table", async () => {
  const location = freshSchema();
  const ledger = await openForTest(location);
  await ledger.record([attached(1), attached(2)]);
  await askServer(`update ${schemaOf(location)}.attachments set attributes = '{' where file_id = 2`);
  await expect(ledger.load()).rejects.toMatchObject({
    code: "ledger-corrupt",
    message: expect.stringMatching(
      /attachments, row draft_id 7, kind product_files, file_id 2, column attributes/,
    ),
  });
  await askServer(`update ${schemaOf(location)}.attachments set attributes = '{}' where file_id = 2`);
  await askServer(`drop table ${schemaOf(location)}.uploads`);
  await expect(ledger.load()).rejects.toMatchObject({ code: "ledger-unreadable" });
});
