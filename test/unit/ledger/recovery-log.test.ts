import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeTracker, RecoveryLog } from "../../../src/ledger/recovery-log.ts";
import { parseRecoveryRecords, recoveryRecordVersion } from "../../../src/ledger/recovery-records.ts";
import { systemClock } from "../../../src/model/ports.ts";
import type { RecoveryRecord } from "../../../src/model/recovery.ts";
import { attached, attachOperation, lostResponse } from "./ledger-values.ts";
import { freshFolder } from "./samples.ts";

function makeRecord(id: string = crypto.randomUUID(), other: Partial<RecoveryRecord> = {}): RecoveryRecord {
  return {
    lineage: "lineage-1",
    owner: { origin: "https://api.example.com", workspace: "w" },
    command: "apply",
    savedAt: 1_700_000_000_789,
    operation: attachOperation(id),
    result: { outcome: "done", status: 201, attempts: 1 },
    effects: [attached(1, { attributes: { description: "line\nnext \u0000 \ud800 end" } })],
    ...other,
  };
}

function makeLog(stateLocation?: string, recoveryFolder?: string, root = freshFolder()): RecoveryLog {
  return new RecoveryLog({
    root,
    workspace: "w",
    ...(recoveryFolder === undefined ? {} : { recoveryFolder }),
    stateLocation: stateLocation ?? join(root, ".draftsync", "state.db"),
  });
}

function recordsOf(log: RecoveryLog): RecoveryRecord[] {
  return log.read().flatMap(({ records }) => records);
}

function pathsOf(log: RecoveryLog): string[] {
  return log.read().map(({ path }) => path);
}

function trackerOf(log: RecoveryLog, print: (line: string) => void = () => {}) {
  const { savedAt: _, serial: _____, operation: __, result: ___, effects: ____, ...run } = makeRecord();
  return makeTracker({ ...run, log, clock: systemClock, serial: () => 12, print });
}

describe("recovery log", () => {
  test("writes a private line for each record next to a SQLite ledger, and reads the records unchanged", () => {
    const log = makeLog();
    expect(log.pending()).toBeUndefined();
    const failed = { outcome: "unknown", status: 504, attempts: 2, failure: lostResponse } as const;
    const records = [makeRecord(undefined, { productId: 70 }), makeRecord(undefined, { result: failed })];
    for (const record of records) log.append(record);
    expect(log.path).toMatch(/\.draftsync\/state\.db\.recovery\.ndjson$/);
    expect(log.pending()).toEqual({ path: log.path, isForeign: false });
    expect(recordsOf(log)).toEqual(records);
    expect(readFileSync(log.path, "utf8").split("\n")).toHaveLength(3);
    expect(statSync(log.path).mode & 0o777).toBe(0o600);
  });

  test("is in the workspace for a ledger in PostgreSQL", () => {
    const { path } = makeLog("postgres://db.example.com/drafts");
    expect(path).toMatch(/\/\.draftsync\/w-[0-9a-f]{8}\.recovery\.ndjson$/);
  });

  test("has one name for each ledger in a shared folder, with any spelling of the location", () => {
    const pathOf = (location: string) => makeLog(location, "/recovery").path;
    const path = pathOf("postgres://ann@db.example.com/drafts?schema=lantern");
    expect(path).toMatch(/^\/recovery\/w-[0-9a-f]{8}\.recovery\.ndjson$/);
    expect(pathOf("postgres://bob:secret@db.example.com:5432/drafts?schema=lantern&sslmode=require")).toBe(
      path,
    );
    expect(pathOf("postgres://ann@db.example.com/drafts?schema=harbor")).not.toBe(path);
    expect(pathOf("/a/state.db")).not.toBe(pathOf("/b/state.db"));
  });

  test("releases its reserved space when it is written", () => {
    const log = makeLog();
    const reserve = `${log.path}.reserve`;
    log.reserve();
    expect(statSync(reserve).size).toBe(64 * 1024);
    log.append(makeRecord());
    expect(existsSync(reserve)).toBe(false);
  });

  test("is written where its reserved space cannot be released", () => {
    const log = makeLog();
    mkdirSync(`${log.path}.reserve`, { recursive: true });
    log.append(makeRecord());
    expect(log.pending()).toMatchObject({ path: log.path });
  });

  test("keeps what conflicts for the next replay when it cannot be written", () => {
    const log = makeLog();
    const record = makeRecord();
    log.append(record);
    log.claim(pathsOf(log));
    mkdirSync(log.path);
    expect(() => log.settle([log.path], [record])).toThrow(
      expect.objectContaining({ code: "recovery-unreadable" }),
    );
    rmSync(log.path, { recursive: true });
    expect(log.claim(pathsOf(log))).toEqual([record]);
  });

  test("keeps conflicting records, and records that another process appends during a replay", () => {
    const log = makeLog();
    const [replayed, conflict, late] = [makeRecord(), makeRecord(), makeRecord()];
    for (const record of [replayed, conflict]) log.append(record);
    expect(log.claim(pathsOf(log))).toEqual([replayed, conflict]);
    log.append(late);
    log.settle([log.path], [conflict]);
    expect(recordsOf(log)).toEqual([late, conflict]);
    expect(log.claim(pathsOf(log))).toEqual([late, conflict]);
    log.settle([log.path], []);
    expect(log.pending()).toBeUndefined();
  });

  test("returns every record again after a killed replay", () => {
    const log = makeLog();
    const [claimed, late] = [makeRecord(), makeRecord()];
    log.append(claimed);
    log.claim(pathsOf(log));
    expect(log.pending()).toMatchObject({ isForeign: false });
    expect(recordsOf(log)).toEqual([claimed]);
    log.append(late);
    expect(log.claim(pathsOf(log))).toEqual([late, claimed]);
  });

  test("is that of the workspace's other ledgers, too: one may be the same, restored in a new place", () => {
    const root = freshFolder();
    const lost = makeLog(undefined, undefined, root);
    const [first, second] = [makeRecord(), makeRecord()];
    lost.append(first);
    lost.claim(pathsOf(lost));
    lost.append(second);
    const restored = makeLog("postgres://db.example.com/drafts", undefined, root);
    const other = `${root}/.draftsync/other.recovery.ndjson`;
    writeFileSync(other, readFileSync(lost.path, "utf8").replace('"workspace":"w"', '"workspace":"other"'));
    expect(restored.pending()).toEqual({ path: `${lost.path}.replaying`, isForeign: true });
    expect(recordsOf(restored)).toEqual([first, second]);
    expect(restored.claim(pathsOf(restored))).toEqual([second, first]);
    restored.settle([lost.path], []);
    expect([restored.pending(), lost.pending(), existsSync(other)]).toEqual([undefined, undefined, true]);
  });

  test.each([
    {
      name: "of a service that has a new address by now",
      change: (text: string) => text.replace("api.", "old."),
    },
    { name: "with a torn line", change: (text: string) => `${text}{"format_version":1,` },
    { name: "of which nothing can be read", change: (text: string) => text.slice(0, 40) },
  ])("has the log of a different ledger $name", ({ change }) => {
    const root = freshFolder();
    const lost = makeLog(undefined, undefined, root);
    lost.append(makeRecord());
    writeFileSync(lost.path, change(readFileSync(lost.path, "utf8")));
    const restored = makeLog("postgres://db.example.com/drafts", undefined, root);
    expect(restored.pending()).toEqual({ path: lost.path, isForeign: true });
  });

  test("is not passed over when it is of a different ledger and cannot be read, but in a shared folder", () => {
    const root = freshFolder();
    const shared = freshFolder();
    mkdirSync(join(shared, "x.recovery.ndjson"));
    expect(makeLog("postgres://db/drafts", shared, root).pending()).toBeUndefined();
    mkdirSync(join(root, ".draftsync", "x.recovery.ndjson"), { recursive: true });
    expect(() => makeLog("postgres://db/drafts", shared, root).pending()).toThrow(
      expect.objectContaining({ code: "recovery-unreadable" }),
    );
  });

  test("is not taken for missing where the folder of the workspace cannot be listed", () => {
    const root = freshFolder();
    symlinkSync(join(root, ".draftsync"), join(root, ".draftsync"));
    expect(() => makeLog("postgres://db/drafts", freshFolder(), root).pending()).toThrow(
      expect.objectContaining({ code: "recovery-unreadable" }),
    );
  });

  test("is claimed alone when a different ledger has one, too", () => {
    const root = freshFolder();
    const [one, two] = [
      makeLog(undefined, undefined, root),
      makeLog("postgres://db/drafts", undefined, root),
    ];
    const [first, second] = [makeRecord(), makeRecord()];
    one.append(first);
    two.append(second);
    expect(one.read()).toEqual([
      { path: one.path, records: [first] },
      { path: two.path, records: [second] },
    ]);
    expect(one.claim([one.path])).toEqual([first]);
    one.settle([one.path], []);
    expect(one.pending()).toEqual({ path: two.path, isForeign: true });
    expect(recordsOf(two)).toEqual([second]);
  });

  test("is not pending while it is empty after a failed write", () => {
    const log = makeLog();
    mkdirSync(join(log.path, ".."));
    writeFileSync(log.path, "\n");
    expect(log.pending()).toBeUndefined();
    expect(log.claim(pathsOf(log))).toEqual([]);
  });

  test("is replaced by a printed line when it cannot be written", () => {
    const folder = freshFolder();
    writeFileSync(join(folder, "file"), "");
    const lines: string[] = [];
    const tracker = trackerOf(makeLog(join(folder, "file", "state.db")), (line) => lines.push(line));
    const { operation, result, effects } = makeRecord();
    expect(tracker.track({ operation, result, effects }).save()).toBeUndefined();
    const printed = lines.flatMap((line) => parseRecoveryRecords(line, "stderr"));
    expect(printed).toMatchObject([{ operation, result, effects }]);
  });

  test("gets the tracked outcomes when the process ends, except recorded ones", () => {
    const log = makeLog();
    const tracker = trackerOf(log);
    const { result, effects } = makeRecord();
    const track = (id: string) => tracker.track({ operation: attachOperation(id), result, effects });
    track("recorded").release();
    track("lost").save();
    track("pending");
    tracker.saveAll();
    tracker.saveAll();
    expect(recordsOf(log).map(({ operation }) => operation.id)).toEqual(["lost", "pending"]);
  });

  test("is rejected when it is truncated within a line", () => {
    const log = makeLog();
    log.append(makeRecord());
    appendFileSync(log.path, line.slice(0, 40));
    expect(() => recordsOf(log)).toThrow(expect.objectContaining({ code: "recovery-invalid" }));
  });

  const line = JSON.stringify({ format_version: recoveryRecordVersion, ...makeRecord() });
  test.each([
    { name: "no line", text: "\n", says: "is empty" },
    { name: "text that is not JSON", text: "{", says: "is not JSON" },
    { name: "another document", text: '{"lineage":"x"}', says: "is not a recovery log" },
    { name: "a newer version", text: '{"format_version":999}', says: "format version 999" },
    { name: "an invalid value", text: line.replace('"done"', '"fine"'), says: "damaged at result.outcome" },
    { name: "an unknown effect", text: line.replace('"attached"', '"sold"'), says: "damaged at effects.0" },
  ])("is rejected when it has $name", ({ text, says }) => {
    expect(() => parseRecoveryRecords(text, "lines.ndjson")).toThrow(
      expect.objectContaining({ code: "recovery-invalid", message: expect.stringContaining(says) }),
    );
  });
});
