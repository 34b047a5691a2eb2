import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./tables.ts";

/** A change of the ledger. It may be applied more than once before it is committed. */
interface Change {
  /** Whether `Recorded` shows it; then its transaction raises the serial. */
  readonly isShown: boolean;
  apply(queries: LedgerQueries, at: number): Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds how long one transaction keeps readers of the newest state, and other writers, waiting. */
const maxGroup = 500;

/**
 * Commits changes in the order in which they came, as many as are waiting in one transaction: a sync of the disk is
 * then shared by all calls that arrived during the previous one.
 *
 * ```
 *  add ─┐
 *  add ─┼─> waiting ──> [ one transaction ] ── committed ──> every add resolves
 *  add ─┘                        └── failed ──> each alone: one bad change fails no other
 * ```
 */
export class WriteQueue {
  readonly #database: LedgerDatabase;
  readonly #fence: (queries: LedgerQueries) => Promise<void>;
  readonly #waiting: Change[] = [];
  #running: Promise<void> | undefined;
  #serial: number | undefined;
  #closed = false;

  /** `fence` comes first in every transaction; it throws when this store may not write any more. */
  constructor(database: LedgerDatabase, fence: (queries: LedgerQueries) => Promise<void>) {
    this.#database = database;
    this.#fence = fence;
  }

  /** The serial that was committed last; `undefined` before the first one. */
  get serial(): number | undefined {
    return this.#serial;
  }

  /** Resolves with what `work` returned, once its change is committed and synced. `at`: the time of its transaction. */
  add<T>(isShown: boolean, work: (queries: LedgerQueries, at: number) => Promise<T>): Promise<T> {
    this.refuseIfClosed();
    return new Promise((resolve, reject) => {
      let result: T;
      this.#waiting.push({
        isShown,
        apply: async (queries, at) => {
          result = await work(queries, at);
        },
        resolve: () => resolve(result),
        reject,
      });
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

  async #commit(group: readonly Change[]): Promise<void> {
    try {
      const serial = await this.#database.transaction("write", (queries) => this.#apply(queries, group));
      this.#serial = serial ?? this.#serial;
    } catch (error) {
      if (group.length === 1 || !mayBeOneChange(error)) {
        for (const { reject } of group) reject(error);
        return;
      }
      for (const change of group) await this.#commit([change]);
      return;
    }
    for (const { resolve } of group) resolve();
  }

  /** Resolves with the serial, if it was raised. */
  async #apply(queries: LedgerQueries, group: readonly Change[]): Promise<number | undefined> {
    await this.#fence(queries);
    const at = await this.#database.now(queries);
    let serial: number | undefined;
    for (const change of group) {
      // Before the first change that is shown: an import that follows must find that the ledger was used.
      if (change.isShown && serial === undefined) {
        const raised = queries.updateTable("meta").set({ serial: sql<number>`serial + 1` });
        serial = Number((await raised.returning("serial").executeTakeFirstOrThrow()).serial);
      }
      await change.apply(queries, at);
    }
    return serial;
  }
}

/** Whether a smaller transaction could succeed. A ledger that is locked or failing is not tried again. */
function mayBeOneChange(error: unknown): boolean {
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
