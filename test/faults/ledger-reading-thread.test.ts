import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, onTestFinished, test } from "vitest";
import type { LedgerReader } from "../../src/ledger/ledger-reader.ts";
import { openLedgerReader, type ReaderOptions } from "../../src/ledger/open-ledger.ts";
import { type Clock, systemClock } from "../../src/model/ports.ts";
import { describeSqliteReader, fileIds, filledFile } from "../unit/ledger/ledger-reader-suite.ts";
import { attached, attachOperation, hurriedClock, sampleRun } from "../unit/ledger/ledger-values.ts";
import { freshFolder, openForTest } from "../unit/ledger/samples.ts";
import { scriptOf } from "./support/thread-script.ts";

const compiled = new URL("../../dist/ledger/sqlite/reading-worker.cjs", import.meta.url);

/** The thread reads every ledger, however small. */
const openOnThread = (options: ReaderOptions, script = compiled): Promise<LedgerReader> =>
  openLedgerReader({ ...options, readingThread: { script, leastBytes: 1 } });

async function readForTest(
  location: string,
  { clock = systemClock, script = compiled }: { readonly clock?: Clock; readonly script?: URL } = {},
): Promise<LedgerReader> {
  const reader = await openOnThread({ location, clock }, script);
  onTestFinished(() => reader.close());
  return reader;
}

describeSqliteReader("SQLite, read by a thread", openOnThread);

describe("a ledger that a thread reads", () => {
  test("reads like one that this thread reads: short rows, and long ones after them", async () => {
    const location = join(freshFolder(), "state.db");
    const ledger = await openForTest(location);
    const short = Array.from({ length: 2_000 }, (_none, at) => attached(at + 1));
    const long = Array.from({ length: 500 }, (_none, at) =>
      attached(10_000 + at, { attributes: { renderer: `"龍\\${at}`.repeat(1_000) } }),
    );
    await ledger.record(short);
    await ledger.record(long);
    await ledger.startRun(sampleRun);
    await ledger.begin(attachOperation("op", 5_000));
    const reader = await readForTest(location);
    const [loaded, exported, operations, runs, lock] = await Promise.all([
      reader.load(),
      reader.export(),
      reader.operations(),
      reader.runs(),
      reader.heldLock(),
    ]);
    expect(loaded).toEqual(await ledger.load());
    expect(loaded.attachments).toHaveLength(2_500);
    expect(exported).toEqual(await ledger.export());
    expect(operations).toEqual(await ledger.operations());
    expect(runs).toEqual(await ledger.runs());
    expect(lock).toBeUndefined();
  });

  test("shows what was committed before each look", async () => {
    const location = await filledFile();
    const ledger = await openForTest(location);
    const reader = await readForTest(location);
    expect(await fileIds(reader)).toEqual([1]);
    await ledger.record([attached(2)]);
    expect(await fileIds(reader)).toEqual([1, 2]);
  });

  test("is told of as without it when it is none, or the file of another program", async () => {
    const folder = freshFolder();
    const [noise, foreign] = [join(folder, "noise.db"), join(folder, "foreign.db")];
    writeFileSync(
      noise,
      "this is no database at all, and longer than a header of a hundred bytes would be ".repeat(9),
    );
    const database = new Database(foreign);
    database.exec("create table other (id integer)");
    database.close();
    for (const location of [noise, foreign, folder, "state.db"]) {
      const plain = await openLedgerReader({ location, clock: systemClock }).catch((error: unknown) => error);
      const { code, message, hint } = plain as { code: string; message: string; hint: string };
      await expect(openOnThread({ location, clock: systemClock })).rejects.toMatchObject({
        code,
        message,
        hint,
      });
    }
  });

  test.each([
    ["is tried again while another program is in the way", 2, systemClock, "ledger-corrupt"],
    ["is given up when another program is in the way for too long", 1_000_000, hurriedClock(), "ledger-busy"],
  ])("%s", async (_name, times, clock, code) => {
    const script = scriptOf(`
      import { parentPort } from "node:worker_threads";
      let begun = 0;
      const failed = (code) => parentPort.postMessage({ type: "failed", code, message: "" });
      parentPort.on("message", (order) => {
        const { type } = order;
        if (order === "close") parentPort.close();
        else if (type === "open") parentPort.postMessage({ type: "opened" });
        else failed(type === "begin" && begun++ < ${times} ? "ledger-busy" : "ledger-corrupt");
      });`);
    const opened = openOnThread({ location: await filledFile(), clock }, script);
    await expect(opened).rejects.toMatchObject({ code });
  });

  test("ends its thread when the file could not be opened", async () => {
    const ended = join(freshFolder(), "ended");
    const script = scriptOf(`
      import { writeFileSync } from "node:fs";
      import { parentPort } from "node:worker_threads";
      parentPort.on("message", (order) => {
        if (order !== "close") return parentPort.postMessage({ type: "failed", code: "ledger-corrupt", message: "" });
        writeFileSync(${JSON.stringify(ended)}, "");
        parentPort.close();
      });`);
    const opened = openOnThread({ location: await filledFile(), clock: systemClock }, script);
    await expect(opened).rejects.toMatchObject({ code: "ledger-corrupt" });
    expect(existsSync(ended)).toBe(true);
  });

  test.each([
    ["cannot be started", () => new URL("http://localhost/worker.js")],
    ["cannot be found", () => new URL("missing.js", import.meta.url)],
    ["ends at once", () => scriptOf("process.exit(1);")],
    [
      "ends with its first order",
      () =>
        scriptOf(
          'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => process.exit(1));',
        ),
    ],
  ])("is read by the main one when its script %s", async (_name, locate) => {
    expect(await fileIds(await readForTest(await filledFile(), { script: locate() }))).toEqual([1]);
  });

  test("cannot be read any more once its thread has ended", async () => {
    const script = scriptOf(`
      import { parentPort } from "node:worker_threads";
      parentPort.on("message", ({ type }) => (type === "open" ? parentPort.postMessage({ type: "opened" }) : process.exit(1)));`);
    await expect(
      openOnThread({ location: await filledFile(), clock: systemClock }, script),
    ).rejects.toMatchObject({
      code: "ledger-failed",
      message: expect.stringContaining("ended early"),
      hint: expect.stringContaining("Run again"),
    });
  });
});
