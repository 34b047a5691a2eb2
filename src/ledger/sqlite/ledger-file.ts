import { randomUUID } from "node:crypto";
import { accessSync, closeSync, constants, linkSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemCodeOf } from "../../model/errors.ts";
import type { Clock } from "../../model/ports.ts";
import { LedgerError } from "../ledger-error.ts";

/** What link(2) fails with where there are no links. */
const linkless: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV"]);

/** How long another process may take from making the file to writing its first page, milliseconds. */
const busyTimeoutMs = 5_000;

/**
 * Makes sure that there is a file to open: a new one with mode 0600, in folders made with 0700. SQLite gives the
 * files that it puts beside it (-wal, -shm) the mode of the file. One that exists keeps its mode.
 *
 * An empty file is refused: it may be what is left of a ledger, and to take it for a new one would be to forget everything.
 * So a new one gets its name once `fill` has written to it, and no crash leaves an empty one. Resolves to whether it is new.
 */
export async function prepareFile(
  location: string,
  { clock, fill }: { readonly clock: Clock; readonly fill: (path: string) => void },
): Promise<boolean> {
  if (!isAbsolute(location)) throw notAFile(location, "is not an absolute path");
  mkdirSync(dirname(location), { recursive: true, mode: 0o700 });
  if (identify(location) === undefined && create(location, fill)) return true;
  await awaitContent(location, clock);
  return false;
}

/** Removes a new file that nothing was written to, as on a full disk: every later command would refuse it. */
export function removeEmptyFile(location: string): void {
  const files = [location, `${location}-wal`, `${location}-shm`];
  const [main, log] = files.map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  if (main === 0 && log === 0) for (const file of files) rmSync(file, { force: true });
}

/** Whether there is a file to read; makes none. An empty one is refused as {@link prepareFile} does. */
export async function findFile(location: string, clock: Clock): Promise<boolean> {
  if (!isAbsolute(location)) throw notAFile(location, "is not an absolute path");
  if (identify(location) === undefined) return false;
  await awaitContent(location, clock);
  return true;
}

async function awaitContent(location: string, clock: Clock): Promise<void> {
  const deadline = clock.monotonic() + busyTimeoutMs;
  for (;;) {
    const found = statSync(location);
    if (!found.isFile())
      throw notAFile(location, found.isDirectory() ? "is a folder" : "is not a regular file");
    if (found.size > 0) return;
    if (clock.monotonic() >= deadline) throw emptyFile(location);
    await pause(20);
  }
}

/** A file at a time when no process wrote to it. */
export interface StillFile {
  readonly device: bigint;
  readonly inode: bigint;
  readonly size: bigint;
  /** Nanoseconds. */
  readonly changedAt: bigint;
}

/**
 * Describes a file that can be read without the two files that SQLite keeps beside one in use (-wal, -shm), because
 * nobody has it open and all that was committed is in it. `undefined` when that cannot be said.
 */
export function describeStill(location: string): StillFile | undefined {
  return identify(`${location}-shm`) === undefined ? stillFileOf(location) : undefined;
}

/** Throws `ledger-busy` when the file has been written to since it was described. */
export function assertStill(location: string, before: StillFile): void {
  const now = stillFileOf(location);
  const same =
    now !== undefined &&
    now.device === before.device &&
    now.inode === before.inode &&
    now.size === before.size &&
    now.changedAt === before.changedAt;
  if (same) return;
  throw new LedgerError("ledger-busy", `The ledger ${location} was changed while it was being read.`, {
    hint: "Run again.",
  });
}

function stillFileOf(location: string): StillFile | undefined {
  const log = statSync(`${location}-wal`, { throwIfNoEntry: false });
  if (log !== undefined && log.size > 0) return undefined;
  const found = statSync(location, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return { device: found.dev, inode: found.ino, size: found.size, changedAt: found.ctimeNs };
}

/** Whether this user may write the file, and make others beside it. */
export function isWritable(location: string): boolean {
  try {
    accessSync(location, constants.W_OK);
    accessSync(dirname(location), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Which file a path leads to (stat(2)). */
export interface FileIdentity {
  readonly device: bigint;
  readonly inode: bigint;
}

/** `undefined` when there is none. */
export function identify(location: string): FileIdentity | undefined {
  const found = statSync(location, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : { device: found.dev, inode: found.ino };
}

/** Throws `ledger-replaced` unless `location` still leads to the file that was `opened`; `then` is what came of it. */
export function assertSameFile(
  location: string,
  opened: FileIdentity | undefined,
  then = "nothing more can be recorded in it",
): void {
  const found = identify(location);
  if (found !== undefined && found.device === opened?.device && found.inode === opened.inode) return;
  const says =
    found === undefined
      ? "was removed while it was in use"
      : "was replaced by another file while it was in use";
  throw new LedgerError("ledger-replaced", `The ledger ${location} ${says}; ${then}.`, {
    hint: "Put the file back from a backup (or `draftsync state import` an export of it) while no draftsync is running.",
  });
}

function create(location: string, fill: (path: string) => void): boolean {
  const making = `${location}.${randomUUID()}`;
  try {
    // Only ever a file that nobody has open: closing one drops this process's locks on it (fcntl(2)).
    closeSync(openSync(making, "wx", 0o600));
    fill(making);
    linkSync(making, location);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return false;
    // Some file systems have no links.
    if (!linkless.has(systemCodeOf(error) ?? "")) throw error;
    return createEmpty(location);
  } finally {
    for (const suffix of ["", "-journal"]) rmSync(`${making}${suffix}`, { force: true });
  }
}

function createEmpty(location: string): boolean {
  try {
    closeSync(openSync(location, "wx", 0o600));
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function notAFile(location: string, says: string): LedgerError {
  return new LedgerError("ledger-unreadable", `The ledger ${location} ${says}.`, {
    hint: "Set `state` in draftsync.yaml (or DRAFTSYNC_STATE) to the path of a file.",
  });
}

function emptyFile(location: string): LedgerError {
  return new LedgerError("ledger-corrupt", `The ledger ${location} is an empty file.`, {
    hint: "If it was in use before, restore it from a backup. If it never was, delete the file and run again.",
  });
}
