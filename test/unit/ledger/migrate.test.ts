import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import type { LedgerDatabase } from "../../../src/ledger/ledger-database.ts";
import { type Migration, migrate } from "../../../src/ledger/migrate.ts";
import { allMigrations } from "../../../src/ledger/migrations/all-migrations.ts";
import { openPostgres } from "../../../src/ledger/postgres/postgres-database.ts";
import { isPostgresLocation } from "../../../src/ledger/postgres/postgres-location.ts";
import { openSqlite } from "../../../src/ledger/sqlite/sqlite-database.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { databases, openForTest } from "./samples.ts";

async function openDatabase(location: string): Promise<LedgerDatabase> {
  const open = isPostgresLocation(location) ? openPostgres : openSqlite;
  const database = await open({ location, clock: systemClock });
  onTestFinished(() => database.close());
  return database;
}

async function rowsOf(database: LedgerDatabase, query: string): Promise<unknown[]> {
  return database.transaction("read", async (queries) => (await sql.raw(query).execute(queries)).rows);
}

const version = allMigrations.length + 1;
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

test("migrations are numbered from 1 without gaps", () => {
  expect(allMigrations.map((each) => each.version)).toEqual(allMigrations.map((_, index) => index + 1));
});

test.each(databases)(
  "$name: a ledger keeps its lineage through later migrations, each applied once",
  async ({ locate }) => {
    const database = await openDatabase(locate());
    await migrate(database, { migrations: allMigrations, clock: systemClock });
    const lineage = await rowsOf(database, "select lineage from meta");
    expect(lineage).toHaveLength(1);
    for (let again = 0; again < 2; again += 1) {
      await migrate(database, { migrations: [...allMigrations, next], clock: systemClock });
    }
    expect(await rowsOf(database, "select lineage from meta")).toEqual(lineage);
    const applied = await rowsOf(database, "select version, name from schema_migrations order by version");
    expect(applied).toEqual([...allMigrations, next].map(({ version, name }) => ({ version, name })));
    expect(await rowsOf(database, "select * from labels")).toEqual([]);
  },
);

test.each(databases)("$name: when one of several migrations fails, none is applied", async ({ locate }) => {
  const database = await openDatabase(locate());
  await migrate(database, { migrations: allMigrations, clock: systemClock });
  const broken = migrate(database, { migrations: [...allMigrations, next, failing], clock: systemClock });
  await expect(broken).rejects.toMatchObject({ name: "LedgerError" });
  for (const table of ["labels", "half"]) {
    await expect(rowsOf(database, `select * from ${table}`)).rejects.toMatchObject({ name: "LedgerError" });
  }
  expect(await rowsOf(database, "select max(version) as version from schema_migrations")).toEqual([
    { version: allMigrations.length },
  ]);
});

test.each(databases)("$name: an older draftsync is refused, whichever one came first", async ({ locate }) => {
  const location = locate();
  const [older, newer] = [await openDatabase(location), await openDatabase(location)];
  const ends = await Promise.allSettled([
    migrate(newer, { migrations: [...allMigrations, next], clock: systemClock }),
    migrate(newer, { migrations: [...allMigrations, next], clock: systemClock }),
  ]);
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  await expect(migrate(older, { migrations: allMigrations, clock: systemClock })).rejects.toMatchObject({
    code: "ledger-too-new",
    message: expect.stringContaining(`version ${version};`),
  });
});

test.each(databases)("$name: a duplicate recorded in NFD is found by its name in NFC", async ({ locate }) => {
  const location = locate();
  const database = await openDatabase(location);
  await migrate(database, { migrations: allMigrations.slice(0, 8), clock: systemClock });
  const insert = (name: string, product: number) => sql`insert into duplicates
    (name, from_product_id, source_product_id, product_id, confirmed_by, confirmed_at)
    values (${name}, 1, 1, ${product}, 'post', 9)`;
  await database.transaction("exclusive", async (queries) => {
    await insert("Drâché".normalize("NFD"), 7).execute(queries);
    await insert("é".normalize("NFD"), 8).execute(queries);
    await insert("é".normalize("NFC"), 9).execute(queries);
  });
  await migrate(database, { migrations: allMigrations, clock: systemClock });
  const { duplicates } = await (await openForTest(location)).load();
  const products = new Map(duplicates.map(({ name, productId }) => [name, productId]));
  expect(products).toEqual(
    new Map([
      ["Drâché".normalize("NFC"), 7],
      ["é".normalize("NFD"), 8],
      ["é".normalize("NFC"), 9],
    ]),
  );
});

test.each(databases)(
  "$name: records of a ledger before confirmations by GET are kept",
  async ({ locate }) => {
    const location = locate();
    const database = await openDatabase(location);
    await migrate(database, { migrations: allMigrations.slice(0, 5), clock: systemClock });
    await database.transaction("exclusive", async (queries) => {
      for (const [at, by] of ["post", "patch", "probe", "import", "person"].entries()) {
        await sql`insert into publications (draft_id, revision, product_id, confirmed_by, confirmed_at)
        values (${at + 1}, 1, 7, ${by}, 9)`.execute(queries);
      }
    });
    const query = "select draft_id, revision, confirmed_by, confirmed_at from publications order by 1, 2";
    const before = await rowsOf(database, query);
    await migrate(database, { migrations: allMigrations, clock: systemClock });
    expect(before).toHaveLength(5);
    expect(await rowsOf(database, query)).toEqual(before);
    const ledger = await openForTest(location);
    await ledger.record([{ type: "product_confirmed", productId: 7, provenance: { by: "get", at: 10 } }]);
    const { publications } = await ledger.load();
    expect(publications.map(({ provenance }) => provenance.by)).toEqual(Array(5).fill("get"));
  },
);
