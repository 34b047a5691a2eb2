import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { LedgerReader } from "../../../src/ledger/ledger-reader.ts";
import { openLedger, openLedgerReader } from "../../../src/ledger/open-ledger.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { emptyRecorded } from "../../../src/model/recorded.ts";
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

async function readForTest(location: string): Promise<LedgerReader> {
  const reader = await openLedgerReader({ location, clock: systemClock });
  onTestFinished(() => reader.close());
  return reader;
}

describe.each(databases)("$name: ledger reader", ({ name, locate }) => {
  test("reads a missing ledger as empty, and does not create it", async () => {
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

  test("reads the latest commits of another process", async () => {
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

test("SQLite: neither creates nor reads a file that is removed or replaced while it is opened", async () => {
  for (const change of [rmSync, (location: string) => renameSync(`${location}.other`, location)]) {
    const location = await filledFile();
    copyFileSync(location, `${location}.other`);
    let refreshes = 0;
    const monotonic = () => {
      // The file is first found, then opened, with retries.
      refreshes += 1;
      if (refreshes === 2) change(location);
      return 0;
    };
    await expect(openLedgerReader({ location, clock: { ...systemClock, monotonic } })).rejects.toMatchObject({
      code: "ledger-replaced",
      message: expect.stringContaining("nothing was read"),
    });
    expect(existsSync(location)).toBe(change !== rmSync);
  }
});

describe("SQLite: ledger without permission to write", () => {
  test.each([
    ["file and folder", 0o500, 0o400],
    ["folder", 0o500, 0o600],
  ])("is read without adding files: %s", async (_, folder, file) => {
    const location = await filledFile();
    await asOrdinaryUser({ folder, file, location }, async () => {
      expect(await fileIds(await readForTest(location))).toEqual([1]);
      expect(readdirSync(dirname(location))).toEqual(["state.db"]);
    });
  });

  test("is read while another process has it open", async () => {
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

  test("fails to load when it changes during the read", async () => {
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

  test("is not read without the changes in its -wal file", async () => {
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

  test("is not opened for writing", async () => {
    const location = await filledFile();
    await asOrdinaryUser({ folder: 0o500, file: 0o400, location }, async () => {
      await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject({
        code: "ledger-read-only",
        hint: expect.stringContaining("writable"),
      });
    });
  });
});

test("PostgreSQL: a role with only SELECT reads the ledger, and cannot write", async () => {
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
  await expect(writer.record([attached(2)])).rejects.toMatchObject({
    code: "ledger-read-only",
    hint: expect.stringContaining("privileges"),
  });
  expect(await fileIds(reader)).toEqual([1]);
});
