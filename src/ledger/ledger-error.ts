import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { HeldLock } from "../model/lock.ts";

/**
 * Why the ledger refused or failed.
 *
 * | code | says |
 * |---|---|
 * | ledger-unreadable | cannot be opened or read: a folder in its place, no permission, not a ledger |
 * | ledger-location-invalid | its location is neither a path nor the URL of a PostgreSQL database |
 * | ledger-unreachable | its database server cannot be reached, or does not answer in time |
 * | ledger-access-denied | its database server refuses the user or the password |
 * | ledger-tls | the connection cannot be encrypted, or must be, or the server's certificate is not trusted |
 * | ledger-corrupt | is a ledger, and something in it is damaged |
 * | ledger-read-only | can be read and not written |
 * | ledger-disk-full | no room for the change; it was not made |
 * | ledger-busy | another process kept it locked for too long |
 * | ledger-too-new | was written by a newer draftsync |
 * | ledger-too-old | was written by an older version, and the command only reads; or by an unreleased build |
 * | ledger-missing | there is none, and the command needs one |
 * | ledger-replaced | its file was removed, or another was put in its place, while it was open |
 * | ledger-conflict | the change contradicts what the ledger holds; it was not made |
 * | ledger-invalid-value | a value that a ledger cannot hold; the change was not made |
 * | ledger-closed | used after `close` |
 * | ledger-outcome-unknown | the connection broke while the change was committed, and its outcome could not be found out |
 * | ledger-not-empty | an import was to go into a ledger that holds something already |
 * | ledger-import-invalid | what was to be imported is not what `state export` writes |
 * | ledger-failed | the database failed in a way that has no code of its own; see the cause |
 * | ledger-owner-mismatch | the ledger belongs to another service or workspace |
 * | lock-held | another process holds the lock; see {@link LockHeldError} |
 * | lock-lost | another writer has taken the lock since; the change was not made |
 */
export type LedgerErrorCode =
  | "ledger-unreadable"
  | "ledger-location-invalid"
  | "ledger-unreachable"
  | "ledger-access-denied"
  | "ledger-tls"
  | "ledger-corrupt"
  | "ledger-read-only"
  | "ledger-disk-full"
  | "ledger-busy"
  | "ledger-too-new"
  | "ledger-too-old"
  | "ledger-missing"
  | "ledger-replaced"
  | "ledger-conflict"
  | "ledger-invalid-value"
  | "ledger-closed"
  | "ledger-outcome-unknown"
  | "ledger-not-empty"
  | "ledger-import-invalid"
  | "ledger-failed"
  | "ledger-owner-mismatch"
  | "lock-held"
  | "lock-lost";

/**
 * A failure of the ledger. When a method of the ledger rejects with it, nothing of its change is stored; only after
 * `ledger-outcome-unknown` all of it may be.
 */
export class LedgerError extends DraftsyncError {
  override readonly name = "LedgerError";
  declare readonly code: LedgerErrorCode;

  constructor(
    code: LedgerErrorCode,
    message: string,
    details: { readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { code, ...details });
  }
}

/** What a failure of a database or its file means for a ledger. */
export interface FailureMeaning {
  readonly code: LedgerErrorCode;
  /** Follows "The ledger LOCATION". */
  readonly says: string;
  readonly hint?: string;
}

/** The error for a failure of the ledger at `location`, with the cause in brackets. */
export function failedLedger(
  location: string,
  { code, says, hint }: FailureMeaning = { code: "ledger-failed", says: "failed" },
  cause: unknown,
): LedgerError {
  return new LedgerError(code, `The ledger ${location} ${says} (${messageOf(cause)}).`, {
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** `lock-held`, with the lock that is in the way. */
export class LockHeldError extends LedgerError {
  readonly lock: HeldLock;

  constructor(location: string, lock: HeldLock) {
    super("lock-held", `The ledger ${location} is locked by ${nameHolder(lock)}.`, {
      hint: `Wait until it has ended. If it is gone for good: draftsync lock release ${lock.id}`,
    });
    this.lock = lock;
  }
}

/** The holder of a lock in words, as its record gives them. */
export function nameHolder({ holder }: HeldLock): string {
  if (holder === undefined) return "an unknown process (its record cannot be read)";
  const { user, host, pid, command } = holder;
  return `${user} on ${host} (process ${pid}, ${command})`;
}
