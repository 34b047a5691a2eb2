import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Database from "libsql";
import { describe, expect, onTestFinished, test } from "vitest";
import { openLedger } from "../../../src/ledger/open-ledger.ts";
import { prepareFile } from "../../../src/ledger/sqlite/ledger-file.ts";
import { applyPragmas } from "../../../src/ledger/sqlite/sqlite-connection.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { attached, hurriedClock } from "./ledger-values.ts";
import { asOrdinaryUser } from "./ordinary-user.ts";
import { freshFolder, openForTest } from "./samples.ts";

/** A ledger of some hundred pages, closed. */
async function filledLedger(): Promise<string> {
  const location = join(freshFolder(), "state.db");
  const ledger = await openForTest(location);
  await ledger.record(Array.from({ length: 1_000 }, (_, index) => attached(index + 1)));
  await ledger.close();
  return location;
}

/** Copies only the file, without SQLite's state in memory. */
function copyOf(location: string): string {
  const copy = join(freshFolder(), "copy.db");
  copyFileSync(location, copy);
  return copy;
}

function change(location: string, sql: string): void {
  const database = new Database(location);
  database.exec(sql);
  database.close();
}

describe("new ledger", () => {
  test("is readable only by its owner, with its folder and files", async () => {
    const folder = join(freshFolder(), "a", "b");
    const location = join(folder, "state.db");
    const ledger = await openForTest(location);
    await ledger.record([attached(1)]);
    expect(ledger.location).toBe(location);
    const modes = [folder, join(folder, ".."), location, `${location}-wal`, `${location}-shm`].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o600, 0o600, 0o600]);
  });

  test("gets its name only when it is complete, so a kill leaves no empty file", async () => {
    const location = join(freshFolder(), "state.db");
    const killed = () =>
      prepareFile(location, {
        clock: systemClock,
        fill: (path) => {
          expect(existsSync(path)).toBe(true);
          throw new Error("killed");
        },
      });
    await expect(killed()).rejects.toThrow("killed");
    expect(readdirSync(dirname(location))).toEqual([]);
    const ledger = await openForTest(location);
    await ledger.record([attached(1)]);
    expect(readdirSync(dirname(location)).sort()).toEqual(["state.db", "state.db-shm", "state.db-wal"]);
  });

  test("syncs every commit", async () => {
    const database = new Database(join(freshFolder(), "state.db"));
    onTestFinished(() => void database.close());
    applyPragmas(database, "here");
    const settings = ["journal_mode", "synchronous", "foreign_keys"].map((name) =>
      database.prepare(`pragma ${name}`).raw().all().flat(),
    );
    expect(settings).toEqual([["wal"], [2], [1]]);
  });

  test("is rejected when SQLite does not accept a setting", () => {
    const database = new Database(":memory:");
    onTestFinished(() => void database.close());
    expect(() => applyPragmas(database, "here")).toThrow(
      expect.objectContaining({
        code: "ledger-unreadable",
        message: expect.stringMatching(/journal_mode is memory/),
      }),
    );
  });

  test("is complete in one file after closing", async () => {
    const location = await filledLedger();
    expect((await (await openForTest(copyOf(location))).load()).attachments).toHaveLength(1_000);
  });
});

describe("openLedger", () => {
  const cases: readonly [string, string, RegExp, (location: string) => void][] = [
    ["a folder", "ledger-unreadable", /is a folder/, (location) => mkdirSync(location)],
    [
      "a file that is not a database",
      "ledger-unreadable",
      /is not a SQLite database/,
      (location) => writeFileSync(location, "not a database ".repeat(1_000)),
    ],
    ["an empty file", "ledger-corrupt", /is an empty file/, (location) => writeFileSync(location, "")],
  ];
  test.each(cases)("rejects %s", async (_, code, message, spoil) => {
    const location = join(freshFolder(), "state.db");
    spoil(location);
    const opened = openLedger({ location, clock: hurriedClock() });
    await expect(opened).rejects.toMatchObject({
      name: "LedgerError",
      code,
      message: expect.stringMatching(message),
    });
    await expect(opened).rejects.toMatchObject({
      message: expect.stringContaining(location),
      hint: expect.any(String),
    });
  });

  test("rejects a path that is not absolute", async () => {
    const opened = openLedger({ location: "state.db", clock: systemClock });
    await expect(opened).rejects.toMatchObject({
      code: "ledger-unreadable",
      message: expect.stringContaining("absolute"),
    });
  });

  test("rejects a path through a file", async () => {
    const folder = join(freshFolder(), "file");
    writeFileSync(folder, "");
    const opened = openLedger({ location: join(folder, "state.db"), clock: systemClock });
    await expect(opened).rejects.toMatchObject({ code: "ledger-unreadable" });
  });

  test("rejects another program's database without changing it", async () => {
    const location = join(freshFolder(), "cookies.db");
    change(location, "create table moz_cookies (id integer)");
    const before = readFileSync(location);
    await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject({
      code: "ledger-unreadable",
      message: expect.stringContaining("another program"),
    });
    expect(readFileSync(location).equals(before)).toBe(true);
  });

  test("rejects the ledger of a newer draftsync", async () => {
    const location = await filledLedger();
    change(location, "insert into schema_migrations values (99, 'later', 0)");
    await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject({
      code: "ledger-too-new",
      message: expect.stringMatching(/version 99.*up to \d+\b/),
      hint: expect.stringContaining("Update draftsync"),
    });
  });
});

describe("damaged ledger", () => {
  test("is not mistaken for a new one when the schema version is missing", async () => {
    const location = await filledLedger();
    change(location, "delete from schema_migrations");
    await expect(openLedger({ location, clock: systemClock })).rejects.toMatchObject({
      code: "ledger-corrupt",
    });
  });

  test("is detected on load when a page is overwritten", async () => {
    const location = await filledLedger();
    const pages = statSync(location).size / 4_096;
    const file = openSync(location, "r+");
    for (let page = Math.floor(pages / 2); page < pages; page += 1) {
      writeSync(file, Buffer.alloc(4_096, 0x5a), 0, 4_096, page * 4_096);
    }
    closeSync(file);
    const ledger = await openForTest(location);
    await expect(ledger.load()).rejects.toMatchObject({
      code: "ledger-corrupt",
      hint: expect.stringContaining("backup"),
    });
  });

  test.each([0.9, 0.5, 0.01])("is detected when its file is truncated to %d of its length", async (part) => {
    const location = copyOf(await filledLedger());
    truncateSync(location, Math.floor(statSync(location).size * part));
    const loaded = openForTest(location).then((ledger) => ledger.load());
    await expect(loaded).rejects.toMatchObject({ code: "ledger-corrupt" });
  });

  const rows: readonly [string, string, RegExp][] = [
    [
      "attributes that are not JSON",
      "update attachments set attributes = '{' where file_id = 2",
      /attachments, row draft_id 7, kind product_files, file_id 2, column attributes/,
    ],
    [
      "attributes of the wrong type",
      `update attachments set attributes = '{"is_native":"yes"}' where file_id = 2`,
      /column attributes/,
    ],
    [
      "a time that is a string",
      "update attachments set provenance_at = 'x' where file_id = 2",
      /column provenance_at: Invalid input: expected number/,
    ],
    ["a lineage that is a number", "update meta set lineage = x'00'", /table meta, row id 1, column lineage/],
    ["no lineage", "delete from meta", /table meta/],
  ];
  test.each(rows)("is reported with the row and column: %s", async (_, sql, message) => {
    const location = join(freshFolder(), "state.db");
    const ledger = await openForTest(location);
    await ledger.record([attached(1), attached(2)]);
    change(location, sql);
    await expect(ledger.load()).rejects.toMatchObject({
      code: "ledger-corrupt",
      message: expect.stringMatching(message),
    });
  });
});

describe("ledger without file permissions", () => {
  test("is rejected when its file is not readable", async () => {
    const location = await filledLedger();
    await asOrdinaryUser({ folder: 0o700, file: 0o000, location }, async () => {
      const opened = openLedger({ location, clock: systemClock });
      await expect(opened).rejects.toMatchObject({
        code: "ledger-unreadable",
        hint: expect.stringContaining("readable"),
      });
    });
  });

  test("is not created when its folder is not writable", async () => {
    const location = await filledLedger();
    await asOrdinaryUser({ folder: 0o500, file: 0o600, location }, async () => {
      const opened = openLedger({ location: `${location}.other`, clock: systemClock });
      await expect(opened).rejects.toMatchObject({ code: "ledger-unreadable" });
    });
  });

  test("can be read but not changed when its file is not writable", async () => {
    const location = await filledLedger();
    await asOrdinaryUser({ folder: 0o700, file: 0o400, location }, async () => {
      const ledger = await openForTest(location);
      expect((await ledger.load()).attachments).toHaveLength(1_000);
      const changed = ledger.record([attached(9_999)]);
      await expect(changed).rejects.toMatchObject({
        code: "ledger-read-only",
        hint: expect.stringContaining("writable"),
      });
    });
  });
});
