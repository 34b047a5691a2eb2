import { setImmediate as nextTurn } from "node:timers/promises";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./schema.ts";

/** A change of the ledger, made with queries alone: it may be run more than once before it is committed. */
export interface Change {
  /** Whether `Recorded` shows it. */
  readonly shown: boolean;
  apply(queries: LedgerQueries): Promise<void>;
}

interface Member {
  readonly change: Change;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds how long one transaction keeps readers of the newest state, and other writers, waiting. */
const largestGroup = 500;

/**
 * Commits changes in the order in which they came, as many as are waiting in one transaction: a sync of the disk is
 * then shared by all calls that came in while the last one went on.
 *
 * ```
 *  add ─┐
 *  add ─┼─> waiting ──> [ one transaction ] ── committed ──> every add resolves
 *  add ─┘                        └── failed ──> each alone: one bad change fails no other
 * ```
 */
export class WriteQueue {
  readonly #database: LedgerDatabase;
  readonly #raiseSerial: (queries: LedgerQueries) => Promise<unknown>;
  readonly #fence: (queries: LedgerQueries) => Promise<void>;
  readonly #waiting: Member[] = [];
  #running: Promise<void> | undefined;
  #closed = false;

  /**
   * `raiseSerial` is run once in every transaction with a change that is shown; `fence` first of all in every one, and
   * throws when this store may not write any more.
   */
  constructor(
    database: LedgerDatabase,
    parts: {
      readonly raiseSerial: (queries: LedgerQueries) => Promise<unknown>;
      readonly fence: (queries: LedgerQueries) => Promise<void>;
    },
  ) {
    this.#database = database;
    this.#raiseSerial = parts.raiseSerial;
    this.#fence = parts.fence;
  }

  /** Resolves once the change is committed and synced. */
  add(change: Change): Promise<void> {
    this.refuseIfClosed();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Throws `ledger-closed` after {@link close}. */
  refuseIfClosed(): void {
    if (this.#closed)
      throw new LedgerError("ledger-closed", `The ledger ${this.#database.location} is closed.`);
  }

  /** Takes no more changes; resolves when those that were added are committed or refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Lets everything that this turn of the event loop brings join the group.
      await nextTurn();
      await this.#commit(this.#waiting.splice(0, largestGroup));
    }
    this.#running = undefined;
  }

  async #commit(group: readonly Member[]): Promise<void> {
    try {
      await this.#transact(group);
    } catch (error) {
      if (group.length === 1 || !mayBeOneMember(error)) {
        for (const { reject } of group) reject(error);
        return;
      }
      for (const member of group) await this.#commit([member]);
      return;
    }
    for (const { resolve } of group) resolve();
  }

  #transact(group: readonly Member[]): Promise<void> {
    return this.#database.transaction("write", async (queries) => {
      await this.#fence(queries);
      for (const { change } of group) await change.apply(queries);
      if (group.some(({ change }) => change.shown)) await this.#raiseSerial(queries);
    });
  }
}

/** Whether a smaller transaction could fare better. A ledger that is locked or failing is not asked once more. */
function mayBeOneMember(error: unknown): boolean {
  switch (error instanceof LedgerError ? error.code : undefined) {
    case "ledger-conflict":
    case "ledger-invalid-value":
    case "ledger-disk-full":
    case "ledger-of-another":
      return true;
    default:
      return false;
  }
}
