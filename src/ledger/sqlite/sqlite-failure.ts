import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import Database from "libsql";
import { fileHint, messageOf, systemCodeOf } from "../../model/errors.ts";
import { type FailureMeaning, failedLedger, LedgerError } from "../ledger-error.ts";

const unreadable = {
  code: "ledger-unreadable",
  says: "cannot be opened",
  hint: "The file and its folder must exist and be readable and writable for this user: SQLite keeps two files (-wal, -shm) beside it.",
} as const satisfies FailureMeaning;

const damaged: FailureMeaning = {
  code: "ledger-corrupt",
  says: "is damaged",
  hint: "Keep a copy of the file with its -wal and -shm, then restore the ledger from a backup.",
};

/** By SQLite's primary result codes (https://www.sqlite.org/rescode.html); extended codes start with one of them. */
const meanings: readonly (readonly [prefix: string, meaning: FailureMeaning])[] = [
  [
    "SQLITE_BUSY",
    {
      code: "ledger-busy",
      says: "is locked by another process",
      hint: "Wait until the other draftsync (or any program that has the file open) has ended, then run again.",
    },
  ],
  ["SQLITE_CANTOPEN", unreadable],
  ["SQLITE_PERM", unreadable],
  [
    "SQLITE_NOTADB",
    {
      code: "ledger-unreadable",
      says: "is not a SQLite database",
      hint: "Check the path. If it was a ledger, it was overwritten: restore it from a backup.",
    },
  ],
  ["SQLITE_CORRUPT", damaged],
  // Of a file that ends before a page does.
  ["SQLITE_IOERR_SHORT_READ", damaged],
  [
    "SQLITE_READONLY",
    {
      code: "ledger-read-only",
      says: "can be read but not written",
      hint: "Make the file and its folder writable for this user, or copy the ledger to where they are.",
    },
  ],
  [
    "SQLITE_FULL",
    {
      code: "ledger-disk-full",
      says: "could not grow: the disk is full",
      hint: "Free some space where the ledger lies, then run again: what was stored before is still there.",
    },
  ],
  [
    "SQLITE_CONSTRAINT",
    { code: "ledger-conflict", says: "already holds something that this change contradicts" },
  ],
  ["SQLITE_TOOBIG", { code: "ledger-invalid-value", says: "cannot hold a text of this length" }],
  [
    "SQLITE_IOERR",
    {
      code: "ledger-failed",
      says: "could not be read or written: the disk reports an error",
      hint: "Check whether the disk is full, and the file system (a network share may not lock files as SQLite needs it).",
    },
  ],
];

/** By the system's error codes, for what is done to files outside SQLite. */
const systemCodes: Readonly<Record<string, string>> = {
  EMFILE: "SQLITE_CANTOPEN",
  ENFILE: "SQLITE_CANTOPEN",
  EROFS: "SQLITE_READONLY",
  ENOSPC: "SQLITE_FULL",
  EDQUOT: "SQLITE_FULL",
  EIO: "SQLITE_IOERR",
  EACCES: "SQLITE_CANTOPEN",
  EPERM: "SQLITE_CANTOPEN",
  ENOTDIR: "SQLITE_CANTOPEN",
  EEXIST: "SQLITE_CANTOPEN",
  ENOENT: "SQLITE_CANTOPEN",
};

/** Says what a failure of SQLite, libsql or the file system means for the ledger at `location`. */
export function explainFailure(thrown: unknown, location: string): LedgerError {
  if (thrown instanceof LedgerError) return thrown;
  const code = resultCode(thrown);
  const known = meanings.find(([prefix]) => code.startsWith(prefix));
  const meaning = known?.[1];
  if (meaning !== unreadable) return failedLedger(location, meaning, thrown);
  const hint = fileHint(failureToOpen(), unreadable.hint);
  return failedLedger(location, { ...unreadable, hint }, thrown);
}

/** Why the process can open no file at all, if so: SQLite does not pass that on. */
function failureToOpen(): unknown {
  try {
    closeSync(openSync(devNull, "r"));
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Whether another connection was in the way; then trying again may help. */
export function isBusy(thrown: unknown): boolean {
  if (thrown instanceof LedgerError) return thrown.code === "ledger-busy";
  return resultCode(thrown).startsWith("SQLITE_BUSY");
}

/** Whether the file may not be opened, or nothing be made beside it. */
export function isForbidden(thrown: unknown): boolean {
  return /^SQLITE_(CANTOPEN|READONLY)/.test(resultCode(thrown));
}

/** libsql has no name for some extended codes; the primary one is their lowest byte. */
function primaryCode(code: string): string {
  const number = /^UNKNOWN_SQLITE_ERROR_(\d+)$/.exec(code)?.[1];
  return number === undefined ? code : (primaryCodes[Number(number) & 0xff] ?? code);
}

const primaryCodes: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  14: "SQLITE_CANTOPEN",
};

function resultCode(thrown: unknown): string {
  if (thrown instanceof Database.SqliteError) return primaryCode(thrown.code);
  // The constructor of libsql throws a plain error that has SQLite's number at the end of its text.
  if (/ConnectionFailed\(.*: 14"\)$/s.test(messageOf(thrown))) return "SQLITE_CANTOPEN";
  return systemCodes[systemCodeOf(thrown) ?? ""] ?? "";
}
