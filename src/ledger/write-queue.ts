import { setImmediate as nextTurn } from "node:timers/promises";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./schema.ts";

/** A change of the ledger. It may be applied more than once before it is committed. */
export interface Change {
  /** Whether `Recorded` shows it. */
  readonly shown: boolean;
  apply(queries: LedgerQueries): Promise<void>;
}

/** What every transaction holds besides its changes. */
export interface Frame {
  /** Comes first; throws when this store may not write any more. */
  fence(queries: LedgerQueries): Promise<void>;
  /** Comes before the first change that is shown: an import that follows finds a ledger that was used. */
  raiseSerial(queries: LedgerQueries): Promise<void>;
}

interface Member {
  readonly change: Change;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds how long one transaction keeps readers of the newest state, and other writers, waiting. */
const maxGroup = 500;

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
  readonly #frame: Frame;
  readonly #waiting: Member[] = [];
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(database: LedgerDatabase, frame: Frame) {
    this.#database = database;
    this.#frame = frame;
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
      await this.#commit(this.#waiting.splice(0, maxGroup));
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

  async #transact(group: readonly Member[]): Promise<void> {
    await this.#database.transaction("write", async (queries) => {
      await this.#frame.fence(queries);
      let isRaised = false;
      for (const { change } of group) {
        if (change.shown && !isRaised) {
          await this.#frame.raiseSerial(queries);
          isRaised = true;
        }
        await change.apply(queries);
      }
    });
  }
}

/** Whether a smaller transaction could fare better. A ledger that is locked or failing is not asked once more. */
function mayBeOneMember(error: unknown): boolean {
  switch (error instanceof LedgerError ? error.code : undefined) {
    case "ledger-conflict":
    case "ledger-corrupt":
    case "ledger-invalid-value":
    case "ledger-disk-full":
    case "ledger-not-empty":
    case "ledger-owner-mismatch":
      return true;
    default:
      return false;
  }
}
