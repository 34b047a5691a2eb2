import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { messageOf, systemCodeOf } from "../model/errors.ts";
import type { Clock } from "../model/ports.ts";
import type { HeldOutcome, KeptOutcome, OutcomeKeeper, UnrecordedOutcome } from "../model/recovery.ts";
import { formatKeptOutcome, parseKeptOutcomes, RecoveryError } from "./kept-outcome.ts";

/** What is kept free on the disk for recovery files: a failure of a full disk leaves room for a dozen outcomes at least. */
const reserveBytes = 1 << 20;

/** Makes a recovery file's name one of this workspace: names of workspaces may begin with one another. */
const operationId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface Place {
  readonly folder: string;
  /** Others may write to the folder above: only one that is ours alone is used. */
  readonly shared: boolean;
}

/**
 * The recovery files of a workspace: one file for each outcome that the ledger failed to record, so that several
 * failures, of several processes too, never touch each other's. They lie in the first of these folders that takes them,
 * and are looked for in all:
 *
 * | folder | for |
 * |---|---|
 * | `ROOT/.draftsync/recovery` | a ledger that failed by itself, or was removed |
 * | `ROOT/draftsync-recovery` | a ledger's folder that cannot be written to |
 * | `TMPDIR/draftsync-recovery-USER-DIGEST` | a workspace that cannot be written to, or whose disk is full |
 *
 * A reserve of one MiB lies in the first one while nothing is kept; it is given up when something must be.
 */
export class RecoveryFiles {
  readonly #places: readonly Place[];
  readonly #workspace: string;

  /** `root` is the workspace's folder, absolute; `temporary` the folder for temporary files of the machine. */
  constructor({
    root,
    workspace,
    temporary = tmpdir(),
  }: { readonly root: string; readonly workspace: string; readonly temporary?: string }) {
    const digest = createHash("sha256").update(root).digest("hex").slice(0, 16);
    this.#workspace = workspace;
    this.#places = [
      { folder: join(root, ".draftsync", "recovery"), shared: false },
      { folder: join(root, "draftsync-recovery"), shared: false },
      {
        folder: join(temporary, `draftsync-recovery-${process.getuid?.() ?? "user"}-${digest}`),
        shared: true,
      },
    ];
  }

  /** Makes sure of the room that {@link keep} needs on a full disk. Never throws: without it the other folders are left. */
  reserve(): void {
    try {
      if (statSync(this.#reserve, { throwIfNoEntry: false })?.size === reserveBytes) return;
      mkdirSync(dirname(this.#reserve), { recursive: true, mode: 0o700 });
      // Of bytes that no file system can leave out or pack.
      writeDurably(this.#reserve, randomBytes(reserveBytes));
    } catch {
      // writeDurably leaves nothing behind.
    }
  }

  /**
   * Writes the outcome to a file of mode 0600 and returns its path once it is on disk with its name. `undefined` when no
   * folder takes it. Never throws.
   */
  keep(kept: KeptOutcome): string | undefined {
    tryTo(() => rmSync(this.#reserve, { force: true }));
    const name = `${this.#workspace}.${kept.operation.id}.json`;
    for (const place of this.#places) {
      try {
        return writeInto(place, name, formatKeptOutcome(kept));
      } catch {
        // The next folder may be on another disk.
      }
    }
    return undefined;
  }

  /** Paths of the recovery files, by folder and name. Throws {@link RecoveryError} `recovery-unreadable`. */
  list(): string[] {
    return this.#places.filter(isUsable).flatMap(({ folder }) =>
      namesIn(folder)
        .filter((name) => this.#isOurs(name))
        .sort()
        .map((name) => join(folder, name)),
    );
  }

  get #reserve(): string {
    return join(this.#places[0]?.folder ?? "", `${this.#workspace}.reserve`);
  }

  #isOurs(name: string): boolean {
    const [start, end] = [`${this.#workspace}.`, ".json"];
    if (!name.startsWith(start) || !name.endsWith(end)) return false;
    return operationId.test(name.slice(start.length, -end.length));
  }
}

/** What a keeper needs to know of its run. */
export interface KeeperOptions extends Omit<KeptOutcome, keyof UnrecordedOutcome | "keptAt"> {
  readonly files: RecoveryFiles;
  readonly clock: Clock;
  /** Gets the line of JSON of an outcome that no folder took. */
  readonly handOver: (line: string) => void;
}

/** A keeper that writes recovery files. */
export interface FileKeeper extends OutcomeKeeper {
  /** Keeps everything that is held: for the end of a process whose ledger does not answer. Synchronous; never throws. */
  keepHeld(): void;
}

/** Makes a {@link FileKeeper}, and has the room for its files reserved beforehand. */
export function makeKeeper({ files, clock, handOver, ...run }: KeeperOptions): FileKeeper {
  files.reserve();
  const held = new Set<HeldOutcome>();
  const write = (outcome: UnrecordedOutcome) => {
    const kept: KeptOutcome = { ...run, ...outcome, keptAt: clock.now() };
    const path = files.keep(kept);
    if (path === undefined) tryTo(() => handOver(formatKeptOutcome(kept)));
    return path;
  };
  return {
    hold: (outcome) => {
      const one: HeldOutcome = {
        release: () => void held.delete(one),
        keep: () => {
          held.delete(one);
          return write(outcome);
        },
      };
      held.add(one);
      return one;
    },
    keepHeld: () => {
      for (const one of held) one.keep();
    },
  };
}

/** The outcomes of a recovery file. Throws {@link RecoveryError} `recovery-unreadable` or `recovery-invalid`. */
export function readRecoveryFile(path: string): KeptOutcome[] {
  try {
    return parseKeptOutcomes(readFileSync(path, "utf8"), path);
  } catch (error) {
    throw error instanceof RecoveryError ? error : unreadable(path, error);
  }
}

/** Removes a recovery file whose outcomes the ledger holds. One that is gone already is fine. */
export function removeRecoveryFile(path: string): void {
  rmSync(path, { force: true });
  tryTo(() => syncFolder(dirname(path)));
}

function writeInto(place: Place, name: string, text: string): string {
  const { folder } = place;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!isUsable(place)) throw new RecoveryError(`${folder} is not ours`, { code: "recovery-unreadable" });
  const path = join(folder, name);
  writeDurably(path, text);
  // The folders above may have been made just now.
  for (const above of [dirname(folder), dirname(dirname(folder))]) tryTo(() => syncFolder(above));
  return path;
}

/** Whole or not at all, and on disk when it returns (fsync(2): the folder has to be synced for the name). */
function writeDurably(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.part`;
  try {
    const file = openSync(temporary, "w", 0o600);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
    syncFolder(dirname(path));
  } catch (error) {
    tryTo(() => rmSync(temporary, { force: true }));
    throw error;
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** In a folder that all may write to, somebody else may have made a folder of the name, or a link. */
function isUsable({ folder, shared }: Place): boolean {
  if (!shared) return true;
  try {
    const found = lstatSync(folder);
    const user = process.getuid?.();
    return found.isDirectory() && (user === undefined || (found.uid === user && (found.mode & 0o077) === 0));
  } catch {
    return false;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemCodeOf(error) ?? "")) return [];
    throw unreadable(folder, error);
  }
}

function unreadable(path: string, cause: unknown): RecoveryError {
  return new RecoveryError(`${path} cannot be read: ${messageOf(cause)}`, {
    code: "recovery-unreadable",
    hint: "It may say what became of calls that the ledger could not record: make it readable for this user.",
    cause,
  });
}

function tryTo(work: () => void): void {
  try {
    work();
  } catch {
    // Whatever follows does without it.
  }
}
