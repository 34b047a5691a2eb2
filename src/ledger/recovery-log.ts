import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { messageOf, systemCodeOf } from "../model/errors.ts";
import { parseJson } from "../model/parse-json.ts";
import type { Clock } from "../model/ports.ts";
import type { OutcomeTracker, RecoveryRecord, TrackedOutcome, UnrecordedOutcome } from "../model/recovery.ts";
import { isPostgresLocation, ledgerAt } from "./postgres/postgres-location.ts";
import { formatRecoveryRecord, parseRecoveryRecords, RecoveryError } from "./recovery-records.ts";

/** Disk space that the log releases before it is written: most ledgers that fail do so because the disk is full. */
const reserveBytes = 64 * 1024;

const logSuffix = ".recovery.ndjson";
const replayingSuffix = ".replaying";

/** What says where the recovery log of a workspace is; paths absolute. */
export interface RecoveryPlace {
  /** The folder of the config. */
  readonly root: string;
  readonly workspace: string;
  readonly stateLocation: string;
  readonly recoveryFolder?: string;
}

/**
 * The recovery log of a ledger: one line of JSON for each outcome that the ledger failed to record. It is a file next to a
 * SQLite ledger (`state.db.recovery.ndjson`), and in `.draftsync` of the workspace for one in PostgreSQL.
 * There, and in a folder that is given, its name says of which ledger it is: several ledgers may have the same folder.
 *
 * The logs that other ledgers of the workspace have in the same folder or in `.draftsync` are found, too: the ledger that failed may
 * have been restored in a new place, for a service that has a new address.
 *
 * ```
 *  append ──► LOG ── claim: rename ──► LOG.replaying ── settle ──► removed
 *              ▲                                         │
 *              └── records that conflict with the ledger ┘
 * ```
 *
 * Any process may append at any time. Only the holder of the workspace lock claims and settles.
 */
export class RecoveryLog {
  /** Absolute. */
  readonly path: string;
  readonly #reserve: string;
  /** `.draftsync` of the workspace. */
  readonly #home: string;
  readonly #folders: ReadonlySet<string>;
  readonly #workspace: string;

  constructor({ root, workspace, stateLocation, recoveryFolder }: RecoveryPlace) {
    const isNext = recoveryFolder === undefined && !isPostgresLocation(stateLocation);
    this.#home = join(root, ".draftsync");
    const folder = recoveryFolder ?? this.#home;
    const path = isNext ? stateLocation : join(folder, `${workspace}-${digest(stateLocation)}`);
    this.path = `${path}${logSuffix}`;
    this.#reserve = `${this.path}.reserve`;
    this.#folders = new Set([dirname(this.path), this.#home]);
    this.#workspace = workspace;
  }

  /** A log with records that were not replayed, and whether it belongs to a different ledger. */
  pending(): { readonly path: string; readonly isForeign: boolean } | undefined {
    const [log] = this.#logs();
    if (log === undefined) return undefined;
    return { path: partsOf(log).find(hasText) ?? log, isForeign: log !== this.path };
  }

  /** Its own log and those of other ledgers, without empty ones. Throws {@link RecoveryError} `recovery-unreadable` or `recovery-invalid`. */
  read(): SavedOutcomes[] {
    return this.#logs().map((path) => ({ path, records: partsOf(path).flatMap(readRecords) }));
  }

  #logs(): string[] {
    const others = [...new Set([...this.#folders].flatMap(pathsOfLogs))].filter(
      (path) => path !== this.path && isOf(this.#workspace, path, dirname(path) !== this.#home),
    );
    return partsOf(this.path).some(hasText) ? [this.path, ...others] : others;
  }

  /** Reserves disk space for {@link append}. Never throws: without the reserve, a full disk may refuse the record. */
  reserve(): void {
    try {
      if (sizeOf(this.#reserve) === reserveBytes) return;
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      // Random, so that no file system compresses it.
      writeFileSync(this.#reserve, randomBytes(reserveBytes), { mode: 0o600 });
    } catch {
      // The record may fit without it.
    }
  }

  /** Returns once the record is on disk; throws when it cannot be written. */
  append(record: RecoveryRecord): void {
    try {
      rmSync(this.#reserve, { force: true });
    } catch {
      // The record may fit beside it.
    }
    appendTo(this.path, record);
  }

  /** Takes the records of these logs for a replay; {@link settle} ends it. Throws {@link RecoveryError} `recovery-unreadable`. */
  claim(paths: readonly string[]): RecoveryRecord[] {
    for (const path of paths) {
      try {
        claimOne(path);
      } catch (error) {
        throw error instanceof RecoveryError ? error : inaccessible(`${path} cannot be replayed`, error);
      }
    }
    return paths.flatMap((path) => readRecords(`${path}${replayingSuffix}`));
  }

  /**
   * Ends a replay of these logs: returns `remaining` to its own log and removes the other records. Throws {@link RecoveryError}
   * `recovery-unreadable`; the next replay then starts again.
   */
  settle(paths: readonly string[], remaining: readonly RecoveryRecord[]): void {
    try {
      for (const record of remaining) this.append(record);
      for (const path of paths) {
        rmSync(`${path}${replayingSuffix}`, { force: true });
        if (existsSync(dirname(path))) sync(dirname(path));
      }
    } catch (error) {
      throw inaccessible(`${this.path} cannot be written`, error);
    }
  }
}

/** The records of a log that were not replayed; its path is absolute. */
export interface SavedOutcomes {
  readonly path: string;
  readonly records: readonly RecoveryRecord[];
}

/** A log, and what a replay of it has taken. */
function partsOf(path: string): readonly string[] {
  return [`${path}${replayingSuffix}`, path];
}

function claimOne(path: string): void {
  const replaying = `${path}${replayingSuffix}`;
  // Left by a replay that was killed.
  for (const record of readRecords(replaying)) appendTo(path, record);
  rmSync(replaying, { force: true });
  if (existsSync(path)) renameSync(path, replaying);
}

/** Returns once the record is on disk. A claim may rename the log while it is open here; replaying a record twice is harmless. */
function appendTo(path: string, record: RecoveryRecord): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  while (!appendOnce(path, formatRecoveryRecord(record))) {}
}

function appendOnce(path: string, line: string): boolean {
  const file = openSync(path, "a", 0o600);
  try {
    const before = fstatSync(file).size;
    try {
      writeFileSync(file, line);
      fsyncSync(file);
    } catch (error) {
      // A part of a line would make the log invalid. If the file is larger, another process has added a line.
      if (fstatSync(file).size < before + Buffer.byteLength(line)) ftruncateSync(file, before);
      throw error;
    }
    for (const folder of [dirname(path), dirname(dirname(path))]) sync(folder);
    return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(file).ino;
  } finally {
    closeSync(file);
  }
}

/** What a tracker needs to know of its run. */
export interface TrackerOptions extends Omit<RecoveryRecord, keyof UnrecordedOutcome | "savedAt" | "serial"> {
  readonly log: RecoveryLog;
  readonly clock: Clock;
  /** The serial that the run has committed last. */
  readonly serial: () => number | undefined;
  /** Receives the line of JSON of an outcome that the log could not take. */
  readonly print: (line: string) => void;
}

/** A tracker that writes a {@link RecoveryLog}. */
export interface LogTracker extends OutcomeTracker {
  /**
   * Saves every tracked outcome, for a process that ends while its ledger hangs. Returns the path of the log if it took one.
   * Synchronous; never throws.
   */
  saveAll(): string | undefined;
}

/** Makes a {@link LogTracker}, and reserves disk space for its log. */
export function makeTracker({ log, clock, serial, print, ...run }: TrackerOptions): LogTracker {
  log.reserve();
  const tracked = new Set<TrackedOutcome>();
  const save = (outcome: UnrecordedOutcome) => {
    const committed = serial();
    const since = committed === undefined ? {} : { serial: committed };
    const record: RecoveryRecord = { ...run, ...outcome, ...since, savedAt: clock.now() };
    try {
      log.append(record);
      return log.path;
    } catch {
      print(formatRecoveryRecord(record));
      return undefined;
    }
  };
  return {
    track: (outcome) => {
      const one: TrackedOutcome = {
        release: () => void tracked.delete(one),
        save: () => {
          tracked.delete(one);
          return save(outcome);
        },
      };
      tracked.add(one);
      return one;
    },
    saveAll: () => [...tracked].map((one) => one.save()).find((path) => path !== undefined),
  };
}

function readRecords(path: string): RecoveryRecord[] {
  const text = textOf(path);
  return text.trim() === "" ? [] : parseRecoveryRecords(text, path);
}

/** Throws {@link RecoveryError} for a folder that cannot be listed: a log may be in it. */
function pathsOfLogs(folder: string): string[] {
  return orWhenMissing<string[]>([], folder, () => readdirSync(folder))
    .map((name) => (name.endsWith(replayingSuffix) ? name.slice(0, -replayingSuffix.length) : name))
    .filter((name) => name.endsWith(logSuffix))
    .map((name) => join(folder, name))
    .sort();
}

/**
 * Whether a log has a record of the workspace, or none that says of which it is. In a folder of several workspaces, one that
 * cannot be read is another user's.
 */
function isOf(workspace: string, path: string, isShared: boolean): boolean {
  try {
    const lines = partsOf(path).flatMap((part) => textOf(part).split("\n"));
    const owners = lines.flatMap(
      (line) => ownerSchema.safeParse(parseJson(line)).data?.owner.workspace ?? [],
    );
    return owners.includes(workspace) || (owners.length === 0 && lines.some((line) => line.trim() !== ""));
  } catch {
    return !isShared;
  }
}

const ownerSchema = z.looseObject({ owner: z.looseObject({ workspace: z.string() }) });

function hasText(path: string): boolean {
  return textOf(path).trim() !== "";
}

function textOf(path: string): string {
  return orWhenMissing("", path, () => readFileSync(path, "utf8"));
}

function sizeOf(path: string): number {
  return orWhenMissing(0, path, () => statSync(path).size);
}

/** Reads a log or a folder. Throws {@link RecoveryError} if it may be there and cannot be read. */
function orWhenMissing<T>(missing: T, path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemCodeOf(error) ?? "")) return missing;
    throw inaccessible(`${path} cannot be read`, error);
  }
}

function inaccessible(what: string, cause: unknown): RecoveryError {
  return new RecoveryError(`${what}: ${messageOf(cause)}`, {
    code: "recovery-unreadable",
    hint: "Make it and its folder accessible for this user: it may hold outcomes of calls that the ledger lacks.",
    cause,
  });
}

/** Makes the name of a file durable (fsync(2)), where its folder can be read and its file system does that. */
function sync(folder: string): void {
  let handle: number | undefined;
  try {
    handle = openSync(folder, "r");
    fsyncSync(handle);
  } catch (error) {
    if (!["EACCES", "EINVAL", "ENOTSUP", "EBADF", "EPERM"].includes(systemCodeOf(error) ?? "")) throw error;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

function digest(location: string): string {
  return createHash("sha256").update(ledgerAt(location)).digest("hex").slice(0, 8);
}
