import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { migrations } from "../../../src/ledger/initial-schema.ts";
import type { LedgerDatabase } from "../../../src/ledger/ledger-database.ts";
import { type Migration, migrate } from "../../../src/ledger/migrate.ts";
import { openLedger, openLedgerReader } from "../../../src/ledger/open-ledger.ts";
import { openPostgres } from "../../../src/ledger/postgres/postgres-database.ts";
import { isPostgresLocation } from "../../../src/ledger/postgres/postgres-location.ts";
import { openSqlite } from "../../../src/ledger/sqlite/sqlite-database.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { databases } from "./samples.ts";

async function openDatabase(location: string): Promise<LedgerDatabase> {
  const open = isPostgresLocation(location) ? openPostgres : openSqlite;
  const database = await open({ location, clock: systemClock });
  onTestFinished(() => database.close());
  return database;
}

async function rowsOf(database: LedgerDatabase, query: string): Promise<unknown[]> {
  return database.transaction("read", async (queries) => (await sql.raw(query).execute(queries)).rows);
}

const version = migrations.length + 1;
const next: Migration = {
  version,
  name: "labels",
  up: async (queries) => {
    await queries.schema.createTable("labels").addColumn("id", "integer").execute();
  },
};
const failing: Migration = {
  version: version + 1,
  name: "failing",
  up: async (queries) => {
    await queries.schema.createTable("half").addColumn("id", "integer").execute();
    await sql`select * from no_such_table`.execute(queries);
  },
};

test("numbers migrations from 1 without gaps", () => {
  expect(migrations.map((each) => each.version)).toEqual(migrations.map((_, index) => index + 1));
});

test.each(databases)("$name: applies each migration once and keeps the lineage", async ({ locate }) => {
  const database = await openDatabase(locate());
  await migrate(database, { migrations, clock: systemClock });
  const lineage = await rowsOf(database, "select lineage from meta");
  expect(lineage).toHaveLength(1);
  for (let again = 0; again < 2; again += 1) {
    await migrate(database, { migrations: [...migrations, next], clock: systemClock });
  }
  expect(await rowsOf(database, "select lineage from meta")).toEqual(lineage);
  const applied = await rowsOf(database, "select version, name from schema_migrations order by version");
  expect(applied).toEqual([...migrations, next].map(({ version, name }) => ({ version, name })));
  expect(await rowsOf(database, "select * from labels")).toEqual([]);
});

test.each(databases)("$name: applies none of several migrations when one fails", async ({ locate }) => {
  const database = await openDatabase(locate());
  await migrate(database, { migrations, clock: systemClock });
  const broken = migrate(database, { migrations: [...migrations, next, failing], clock: systemClock });
  await expect(broken).rejects.toMatchObject({ name: "LedgerError" });
  for (const table of ["labels", "half"]) {
    await expect(rowsOf(database, `select * from ${table}`)).rejects.toMatchObject({ name: "LedgerError" });
  }
  expect(await rowsOf(database, "select max(version) as version from schema_migrations")).toEqual([
    { version: migrations.length },
  ]);
});

test.each(databases)(
  "$name: rejects an older draftsync that opened the ledger before the migration",
  async ({ locate }) => {
    const location = locate();
    const [older, newer] = [await openDatabase(location), await openDatabase(location)];
    const ends = await Promise.allSettled([
      migrate(newer, { migrations: [...migrations, next], clock: systemClock }),
      migrate(newer, { migrations: [...migrations, next], clock: systemClock }),
    ]);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    await expect(migrate(older, { migrations, clock: systemClock })).rejects.toMatchObject({
      code: "ledger-too-new",
      message: expect.stringContaining(`version ${version};`),
    });
  },
);

test.each(databases)(
  "$name: rejects the ledger of an unreleased build without changing it",
  async ({ locate }) => {
    const location = locate();
    const unreleased = migrations.map((migration) => ({ ...migration, name: "unreleased" }));
    const database = await openDatabase(location);
    await migrate(database, { migrations: [...unreleased, next], clock: systemClock });
    const refusal = {
      name: "LedgerError",
      code: "ledger-too-old",
      message: expect.stringContaining(database.location),
      hint: expect.stringContaining("draftsync state export"),
    };
    await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject(refusal);
    await expect(openLedgerReader({ location, clock: systemClock })).rejects.toMatchObject(refusal);
    expect(await rowsOf(database, "select version from schema_migrations order by version")).toEqual(
      [...unreleased, next].map((each) => ({ version: each.version })),
    );
  },
);

test.each(databases)(
  "$name: upgrades an older ledger when it is opened for writing, and rejects it for reading",
  async ({ locate }) => {
    const location = locate();
    await (await openLedger({ location, clock: systemClock })).close();
    const newer = { location, clock: systemClock, migrations: [...migrations, next] };
    const refusal = {
      code: "ledger-too-old",
      message: expect.stringContaining("An older version of draftsync"),
      hint: expect.stringContaining("draftsync apply"),
    };
    await expect(openLedgerReader(newer)).rejects.toMatchObject(refusal);
    const older = await openLedgerReader({ location, clock: systemClock });
    expect(older.isMissing).toBe(false);
    await older.close();
    await (await openLedger(newer)).close();
    const reader = await openLedgerReader(newer);
    onTestFinished(() => reader.close());
    expect((await reader.load()).serial).toBe(0);
  },
);
