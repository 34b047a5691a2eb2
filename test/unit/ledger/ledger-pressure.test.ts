import { copyFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import Database from "libsql";
import { describe, expect, onTestFinished, test } from "vitest";
import { migrations } from "../../../src/ledger/initial-schema.ts";
import { migrate } from "../../../src/ledger/migrate.ts";
import { openSqlite } from "../../../src/ledger/sqlite/sqlite-database.ts";
import { StateStore } from "../../../src/ledger/state-store.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { attached, attachOperation, hurriedClock, sampleRun } from "./ledger-values.ts";
import { freshFolder, openForTest } from "./samples.ts";

/** Holds the write lock of a ledger in another connection until released. */
function holdLock(location: string): { release(): void } {
  const database = new Database(location);
  onTestFinished(() => void database.close());
  database.exec("begin immediate");
  return { release: () => void database.exec("rollback") };
}

describe("SQLite ledger", () => {
  test("rejects changes while the ledger is locked for too long, and accepts them afterwards", async () => {
    const location = join(freshFolder(), "state.db");
    const ledger = await openForTest(location, hurriedClock());
    await ledger.record([attached(1)]);
    const lock = holdLock(location);
    const refused = await Promise.allSettled([ledger.record([attached(2)]), ledger.record([attached(3)])]);
    expect(refused).toMatchObject([
      { reason: { code: "ledger-busy", hint: expect.stringContaining("Wait") } },
      { reason: { code: "ledger-busy" } },
    ]);
    expect((await ledger.load()).attachments).toHaveLength(1);
    lock.release();
    await ledger.record([attached(4)]);
    expect((await ledger.load()).attachments.map(({ fileId }) => fileId)).toEqual([1, 4]);
  });

  test("waits for the database lock without blocking the process, and makes the change once", async () => {
    const location = join(freshFolder(), "state.db");
    const ledger = await openForTest(location);
    await ledger.startRun(sampleRun);
    const lock = holdLock(location);
    const begun = ledger.begin(attachOperation("op"));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    lock.release();
    await begun;
    expect(await ledger.load()).toMatchObject({ serial: 1, inDoubt: [{ id: "op" }] });
  });

  test("rejects only the change that does not fit on a full disk", async () => {
    const location = join(freshFolder(), "state.db");
    const database = await openSqlite({ location, clock: systemClock });
    await migrate(database, { migrations, clock: systemClock });
    const ledger = new StateStore(database);
    onTestFinished(() => ledger.close());
    await ledger.record([attached(1)]);
    await database.transaction("read", async (queries) => {
      const [size] = (await sql<{ page_count: number }>`pragma page_count`.execute(queries)).rows;
      await sql`pragma max_page_count = ${sql.lit((size?.page_count ?? 0) + 1)}`.execute(queries);
    });
    const tooMuch = Array.from({ length: 500 }, (_, index) => attached(index + 100));
    const [big, small] = await Promise.allSettled([ledger.record(tooMuch), ledger.record([attached(2)])]);
    expect(big).toMatchObject({
      reason: { code: "ledger-disk-full", hint: expect.stringContaining("space") },
    });
    expect(small.status).toBe("fulfilled");
    expect((await ledger.load()).attachments.map(({ fileId }) => fileId)).toEqual([1, 2]);
  });

  test.each([
    { name: "removed", replace: (location: string) => rmSync(location), says: "was removed" },
    {
      name: "replaced by a copy of itself",
      replace: (location: string) => {
        copyFileSync(location, `${location}.copy`);
        renameSync(`${location}.copy`, location);
      },
      says: "was replaced",
    },
  ])(
    "rejects every change but stays readable when the ledger is $name while open",
    async ({ replace, says }) => {
      const location = join(freshFolder(), "state.db");
      const ledger = await openForTest(location);
      await ledger.record([attached(1)]);
      replace(location);
      const changes = await Promise.allSettled([ledger.record([attached(2)]), ledger.record([attached(3)])]);
      const refusal = { reason: { code: "ledger-replaced", message: expect.stringContaining(says) } };
      expect(changes).toMatchObject([refusal, refusal]);
      const holder = { user: "ann", host: "build-7", pid: 1, command: "apply" };
      await expect(ledger.acquireLock({ holder })).rejects.toMatchObject({ code: "ledger-replaced" });
      expect((await ledger.load()).attachments).toHaveLength(1);
    },
  );
});
