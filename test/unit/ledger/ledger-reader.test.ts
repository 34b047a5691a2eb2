import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { LedgerReader } from "../../../src/ledger/ledger-reader.ts";
import { openLedgerReader } from "../../../src/ledger/open-ledger.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { emptyRecorded } from "../../../src/model/recorded.ts";
import { describeSqliteReader, fileIds } from "./ledger-reader-suite.ts";
import { attached } from "./ledger-values.ts";
import { askServer, databases, freshRole, freshSchema, openForTest, schemaOf } from "./samples.ts";

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

describeSqliteReader("SQLite", openLedgerReader);

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
