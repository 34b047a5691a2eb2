import { setImmediate as nextTurn } from "node:timers/promises";
import type { LedgerDatabase } from "./ledger-database.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./schema.ts";
import { runSteps, type Step, StepRefusedError } from "./step.ts";

/**
 * A change of the ledger: steps, or, where what is done next depends on what is there, queries. It may be run more than
 * once before it is committed.
 */
export type Change = {
  /** Whether `Recorded` shows it. */
  readonly shown: boolean;
} & ({ readonly steps: readonly Step[] } | { apply(queries: LedgerQueries): Promise<void> });

/** What stands in every transaction beside the changes. */
export interface Frame {
  /** The first step of all: it is refused when this store may not write any more. */
  readonly fence: () => Step | undefined;
  /** What is told when it was. */
  readonly lost: () => Promise<Error>;
  /** The last step, where a change is shown. */
  readonly raiseSerial: Step;
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
      await this.#commit(this.#takeGroup());
    }
    this.#running = undefined;
  }

  /** Those that have waited longest: as many with steps as there are, or one with queries. */
  #takeGroup(): readonly Member[] {
    const other = this.#waiting.findIndex(({ change }) => !("steps" in change));
    return this.#waiting.splice(0, Math.min(largestGroup, other === -1 ? largestGroup : Math.max(other, 1)));
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
    let fence: Step | undefined;
    const opening = () => {
      fence = this.#frame.fence();
      return fence === undefined ? [] : [fence];
    };
    const closing = group.some(({ change }) => change.shown) ? [this.#frame.raiseSerial] : [];
    const change = group[0]?.change;
    try {
      if (change !== undefined && "apply" in change) {
        await this.#database.transaction("write", async (queries) => {
          await runSteps(queries, opening());
          await change.apply(queries);
          await runSteps(queries, closing);
        });
      } else {
        const steps = group.flatMap(({ change }) => ("steps" in change ? change.steps : []));
        await this.#database.commit(() => [...opening(), ...steps, ...closing]);
      }
    } catch (error) {
      throw error instanceof StepRefusedError && error.step === fence ? await this.#frame.lost() : error;
    }
  }
}

/** Whether a smaller transaction could fare better. A ledger that is locked or failing is not asked once more. */
function mayBeOneMember(error: unknown): boolean {
  switch (error instanceof LedgerError ? error.code : undefined) {
    case "ledger-conflict":
    case "ledger-invalid-value":
    case "ledger-disk-full":
    case "ledger-owner-mismatch":
      return true;
    default:
      return false;
  }
}
