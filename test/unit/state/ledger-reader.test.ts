import { appendFileSync, chmodSync, copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "libsql";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/model/ports.ts";
import { emptyRecorded } from "../../../src/model/recorded.ts";
import type { LedgerReader } from "../../../src/state/ledger-reader.ts";
import { openLedger, openLedgerReader } from "../../../src/state/open-ledger.ts";
import { attached } from "./ledger-values.ts";
import { asOrdinaryUser } from "./ordinary-user.ts";
import {
  askServer,
  databases,
  freshFolder,
  freshRole,
  freshSchema,
  openForTest,
  schemaOf,
} from "./samples.ts";

async function readForTest(location: string): Promise<LedgerReader> {
  const reader = await openLedgerReader({ location, clock: systemClock });
  onTestFinished(() => reader.close());
  return reader;
}

const fileIds = async (reader: LedgerReader) =>
  (await reader.load()).attachments.map(({ fileId }) => fileId).sort();

/** A SQLite ledger with one record, closed. */
async function filledFile(): Promise<string> {
  const location = join(freshFolder(), "state.db");
  const ledger = await openForTest(location);
  await ledger.record([attached(1)]);
  await ledger.close();
  for (const suffix of ["-wal", "-shm"]) rmSync(`${location}${suffix}`, { force: true });
  return location;
}

describe.each(databases)("$name: a ledger to look into", ({ name, locate }) => {
  test("that is not there reads as one that holds nothing, and is not made", async () => {
    const location = locate();
    const reader = await readForTest(location);
    expect(reader.isMissing).toBe(true);
    expect(await reader.load()).toEqual(emptyRecorded);
    expect([await reader.heldLock(), await reader.operations(), await reader.runs()]).toEqual([
      undefined,
      [],
      [],
    ]);
    await expect(reader.export()).rejects.toMatchObject({ code: "ledger-missing", hint: expect.any(String) });
    if (name === "SQLite") return expect(existsSync(dirname(location))).toBe(false);
    const schemas = await askServer(`select 1 from pg_namespace where nspname = '${schemaOf(location)}'`);
    expect(schemas).toEqual([]);
  });

  test("shows what was committed before each look, while another process writes", async () => {
    const location = locate();
    const ledger = await openForTest(location);
    await ledger.record([attached(1)]);
    const reader = await readForTest(location);
    expect(await fileIds(reader)).toEqual([1]);
    await ledger.record([attached(2)]);
    expect(await fileIds(reader)).toEqual([1, 2]);
    expect(await reader.export()).toEqual(await ledger.export());
  });
});

describe("SQLite: without the right to write", () => {
  test.each([
    ["the file and its folder", 0o500, 0o400],
    ["the folder", 0o500, 0o600],
  ])("%s, it is read, and nothing is put beside it", async (_, folder, file) => {
    const location = await filledFile();
    await asOrdinaryUser({ folder, file, location }, async () => {
      expect(await fileIds(await readForTest(location))).toEqual([1]);
      expect(readdirSync(dirname(location))).toEqual(["state.db"]);
    });
  });

  test("it is read while another process has it open", async () => {
    const location = await filledFile();
    const ledger = await openForTest(location);
    await ledger.record([attached(2)]);
    await asOrdinaryUser({ folder: 0o500, file: 0o400, location }, async () => {
      const reader = await readForTest(location);
      expect(await fileIds(reader)).toEqual([1, 2]);
      await ledger.record([attached(3)]);
      expect(await fileIds(reader)).toEqual([1, 2, 3]);
    });
  });

  test("a change while it is read is noticed, and nothing that was read is believed", async () => {
    const location = await filledFile();
    await asOrdinaryUser({ folder: 0o500, file: 0o400, location }, async () => {
      const reader = await readForTest(location);
      expect(await fileIds(reader)).toEqual([1]);
      chmodSync(location, 0o600);
      appendFileSync(location, "x");
      await expect(reader.load()).rejects.toMatchObject({
        code: "ledger-busy",
        message: expect.stringContaining("was changed while it was being read"),
      });
    });
  });

  test("changes that lie in a -wal file alone are not passed over", async () => {
    const location = await filledFile();
    const ledger = await openForTest(location);
    await ledger.record([attached(2)]);
    const copy = join(freshFolder(), "state.db");
    for (const suffix of ["", "-wal"]) copyFileSync(`${location}${suffix}`, `${copy}${suffix}`);
    await asOrdinaryUser({ folder: 0o500, file: 0o400, location: copy }, async () => {
      await expect(readForTest(copy).then(fileIds)).rejects.toMatchObject({
        code: "ledger-unreadable",
        hint: expect.stringContaining("writable"),
      });
    });
  });

  test("to open it for writing is refused", async () => {
    const location = await filledFile();
    await asOrdinaryUser({ folder: 0o500, file: 0o400, location }, async () => {
      await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject({
        code: "ledger-read-only",
        hint: expect.stringContaining("writable"),
      });
    });
  });

  test("the ledger of an older draftsync says who can bring it up to date; with the right, it is", async () => {
    const location = await filledFile();
    const database = new Database(location);
    database.exec(
      "drop table looks; drop table notices; drop index operations_by_run; delete from schema_migrations where version > 4",
    );
    database.exec("pragma wal_checkpoint(truncate)");
    database.close();
    for (const suffix of ["-wal", "-shm"]) rmSync(`${location}${suffix}`, { force: true });
    await asOrdinaryUser({ folder: 0o500, file: 0o400, location }, async () => {
      await expect(readForTest(location)).rejects.toMatchObject({
        code: "ledger-too-old",
        hint: expect.stringContaining("draftsync state list"),
      });
    });
    chmodSync(location, 0o600);
    const left = await openLedgerReader({ location, clock: systemClock, outdated: "leave" });
    expect(left.isMissing).toBe(true);
    expect(await left.load()).toEqual(emptyRecorded);
    await asOrdinaryUser({ folder: 0o500, file: 0o400, location }, async () => {
      await expect(readForTest(location)).rejects.toMatchObject({ code: "ledger-too-old" });
    });
    chmodSync(location, 0o600);
    expect(await fileIds(await readForTest(location))).toEqual([1]);
  });
});

test("PostgreSQL: a role that may only select reads it, and writes nothing", async () => {
  const location = freshSchema();
  const ledger = await openForTest(location);
  await ledger.record([attached(1)]);
  const asReader = await freshRole(
    (role, schema) =>
      `grant usage on schema ${schema} to ${role}; grant select on all tables in schema ${schema} to ${role}`,
    location,
  );
  const reader = await readForTest(asReader);
  expect(await fileIds(reader)).toEqual([1]);
  expect(await reader.export()).toEqual(await ledger.export());
  expect(await reader.heldLock()).toBeUndefined();
  const writer = await openForTest(asReader);
  await expect(writer.record([attached(2)])).rejects.toMatchObject({ code: "ledger-read-only" });
  expect(await fileIds(reader)).toEqual([1]);
});
