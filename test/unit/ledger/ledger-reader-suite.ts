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
import { openLedger, type ReaderOptions } from "../../../src/ledger/open-ledger.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { attached } from "./ledger-values.ts";
import { asOrdinaryUser } from "./ordinary-user.ts";
import { freshFolder, openForTest } from "./samples.ts";

export const fileIds = async (reader: LedgerReader) =>
  (await reader.load()).attachments.map(({ fileId }) => fileId).sort();

/** A SQLite ledger with one record, closed. */
export async function filledFile(): Promise<string> {
  const location = join(freshFolder(), "state.db");
  const ledger = await openForTest(location);
  await ledger.record([attached(1)]);
  await ledger.close();
  for (const suffix of ["-wal", "-shm"]) rmSync(`${location}${suffix}`, { force: true });
  return location;
}

/** What reading a SQLite file without the right to write it, or one of an older draftsync, comes to, however it is opened. */
export function describeSqliteReader(
  name: string,
  open: (options: ReaderOptions) => Promise<LedgerReader>,
): void {
  const readForTest = async (location: string) => {
    const reader = await open({ location, clock: systemClock });
    onTestFinished(() => reader.close());
    return reader;
  };

  test(`${name}: a file that is removed, or replaced, while it is being opened is neither made nor read`, async () => {
    for (const change of [rmSync, (location: string) => renameSync(`${location}.other`, location)]) {
      const location = await filledFile();
      copyFileSync(location, `${location}.other`);
      let refreshes = 0;
      const monotonic = () => {
        // First the file is looked for; then it is opened, and tried again for a while.
        refreshes += 1;
        if (refreshes === 2) change(location);
        return 0;
      };
      await expect(open({ location, clock: { ...systemClock, monotonic } })).rejects.toMatchObject({
        code: "ledger-replaced",
        message: expect.stringContaining("nothing was read"),
      });
      expect(existsSync(location)).toBe(change !== rmSync);
    }
  });

  describe(`${name}: without the right to write`, () => {
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
  });
}
