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

/** A location with some of its parts replaced. */
function changed(change: (url: URL) => void): string {
  const url = new URL(freshSchema());
  change(url);
  return url.href;
}

describe("what cannot be opened", () => {
  const cases: readonly [string, string, RegExp, () => string | Promise<string>][] = [
    [
      "a port where nothing listens",
      "ledger-unreachable",
      /cannot be reached.*ECONNREFUSED/,
      () =>
        changed((url) => {
          url.port = "1";
          url.password = secret;
        }),
    ],
    [
      "a host that does not exist",
      "ledger-unreachable",
      /cannot be reached/,
      () =>
        changed((url) => {
          url.hostname = "no-such-host.invalid";
          url.searchParams.set("sslmode", "disable");
          url.password = secret;
        }),
    ],
    [
      "a wrong password",
      "ledger-access-denied",
      /refuses this user or its password/,
      () =>
        changed((url) => {
          url.password = secret;
        }),
    ],
    [
      "no password",
      "ledger-access-denied",
      /refuses this user or its password/,
      () =>
        changed((url) => {
          url.password = "";
        }),
    ],
    [
      "a database that does not exist",
      "ledger-unreadable",
      /names a database that does not exist/,
      () =>
        changed((url) => {
          url.pathname = "/no_such_database";
        }),
    ],
    ["a user who may make no schema", "ledger-unreadable", /may not be used by this user/, () => freshRole()],
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
      "a server without TLS, when TLS is asked for",
      "ledger-tls",
      /over TLS/,
      () => changed((url) => url.searchParams.set("sslmode", "require")),
    ],
    [
      "a file of certificates that is not there",
      "ledger-tls",
      /certificates.*ENOENT/,
      () =>
        changed((url) => {
          url.searchParams.set("sslmode", "require");
          url.searchParams.set("sslrootcert", join(freshFolder(), "ca.pem"));
        }),
    ],
  ];
  test.each(cases)("%s", async (_, code, message, spoil) => {
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

  test("the ledger of a newer draftsync", async () => {
    const location = freshSchema();
    await (await openForTest(location)).close();
    await askServer(`insert into ${schemaOf(location)}.schema_migrations values (99, 'later', 0)`);
    await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject({
      code: "ledger-too-new",
      message: expect.stringMatching(/version 99.*up to \d+\b/),
    });
  });

  test("another program's schema is left unchanged", async () => {
    const location = freshSchema();
    const schema = schemaOf(location);
    await askServer(`create schema ${schema}; create table ${schema}.orders (id integer)`);
    await expect(openLedger({ location, clock: systemClock })).rejects.toThrow();
    const tables = await askServer(`select tablename from pg_tables where schemaname = '${schema}'`);
    expect(tables).toEqual([{ tablename: "orders" }]);
  });

  test("a certificate that nobody vouches for is not trusted, and a plain server is not one with TLS", async () => {
    const folder = freshFolder();
    writeFileSync(join(folder, "ca.pem"), "");
    const location = changed((url) => {
      url.searchParams.set("sslmode", "verify-full");
      url.searchParams.set("sslrootcert", join(folder, "ca.pem"));
    });
    await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject({ code: "ledger-tls" });
  });
});

describe("a user", () => {
  test("who may make schemas needs nothing else", async () => {
    const database = new URL(inject("databaseUrl")).pathname.slice(1);
    const location = await freshRole((role) => `grant create on database "${database}" to ${role}`);
    const ledger = await openForTest(location);
    await ledger.record([attached(1)]);
    expect((await ledger.load()).attachments).toHaveLength(1);
  });

  test("who was given a schema may make the ledger in it", async () => {
    const location = await freshRole((role, schema) => `create schema ${schema} authorization ${role}`);
    const ledger = await openForTest(location);
    await ledger.record([attached(1)]);
    expect((await ledger.load()).attachments).toHaveLength(1);
  });

  test("who may only read can read, and gets an error that says so on a change", async () => {
    const location = freshSchema();
    await (await openForTest(location)).record([attached(1)]);
    const reader = await freshRole(
      (role, schema) =>
        `grant usage on schema ${schema} to ${role}; grant select on all tables in schema ${schema} to ${role}`,
      location,
    );
    const ledger = await openForTest(reader);
    expect((await ledger.load()).attachments).toHaveLength(1);
    await expect(ledger.record([attached(2)])).rejects.toMatchObject({
      code: "ledger-read-only",
      hint: expect.stringContaining("privileges"),
    });
  });
});

test("two schemas of a database hold two ledgers that know nothing of each other", async () => {
  const [one, other] = [await openForTest(freshSchema()), await openForTest(freshSchema())];
  await Promise.all([one.record([attached(1)]), other.record([attached(2)])]);
  expect((await one.load()).attachments.map(({ fileId }) => fileId)).toEqual([1]);
  expect((await other.load()).attachments.map(({ fileId }) => fileId)).toEqual([2]);
});

test("the location is shown without its password, and an export does not hold it", async () => {
  const location = freshSchema();
  const { password } = new URL(location);
  const ledger = await openForTest(location);
  expect(ledger.location).toContain(schemaOf(location));
  expect(ledger.location).not.toContain(password);
  expect(JSON.stringify(await ledger.export())).not.toContain(password);
  expect(inspect(ledger, { depth: 4 })).not.toContain(password);
});

test("damage of a row is named", async () => {
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
