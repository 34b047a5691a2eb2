import type Database from "libsql";
import { LedgerError } from "../ledger-error.ts";
import type { Step } from "../step.ts";
import { assertSameFile, type OpenedFile } from "./ledger-file.ts";
import { connect, rollBack } from "./sqlite-connection.ts";
import { type ToldFailure, tellFailure } from "./told-failure.ts";

/**
 * Steps of one transaction, as they go from one thread to the other: each text is sent once, and then named by its place.
 * Flat lists, since each object of a message costs as much as its values do.
 */
export interface CommitOrder {
  /** Texts that follow those of the orders before. */
  readonly texts: readonly string[];
  /** Of each step its text, whether it must change a row (1 or 0), and how many values it has. */
  readonly steps: readonly number[];
  /** Those of all steps, one after the other. */
  readonly values: Step["parameters"];
}

/** How many numbers {@link CommitOrder.steps} has of each step. */
const stepLength = 3;

/** What a thread with a {@link StepCommitter} is told. */
export type CommitterMessage = CommitOrder | "close";

/** What became of an order. Of all but `committed` nothing is stored. */
export type CommitReply =
  | { readonly type: "committed" }
  /** The step at this place changed no row and had to. */
  | { readonly type: "refused"; readonly at: number }
  | ToldFailure;

/** Commits steps to a SQLite ledger over a connection of its own, and stands still meanwhile: for a thread that does nothing else. */
export class StepCommitter {
  readonly #of: OpenedFile;
  readonly #texts: string[] = [];
  readonly #statements: Database.Statement[] = [];
  #database: Database.Database | undefined;

  constructor(of: OpenedFile) {
    this.#of = of;
  }

  /** Replies once the steps are on disk, or nothing of them is. */
  commit({ texts, ...order }: CommitOrder): CommitReply {
    this.#texts.push(...texts);
    try {
      this.#database ??= this.#open();
      return this.#transact(this.#database, order);
    } catch (error) {
      return tellFailure(error, this.#of.location);
    }
  }

  close(): void {
    this.#statements.length = 0;
    this.#database?.close();
  }

  #open(): Database.Database {
    const { location, file } = this.#of;
    // SQLite would make one where there is none.
    assertSameFile(location, file);
    return connect(location);
  }

  #transact(database: Database.Database, { steps, values }: Omit<CommitOrder, "texts">): CommitReply {
    database.exec("begin immediate");
    try {
      for (let at = 0, taken = 0; at < steps.length; at += stepLength) {
        const [text = 0, mustChange, count = 0] = steps.slice(at, at + stepLength);
        const { changes } = this.#statement(database, text).run(values.slice(taken, taken + count));
        taken += count;
        if (changes > 0 || mustChange === 0) continue;
        database.exec("rollback");
        return { type: "refused", at: at / stepLength };
      }
      // A file that was unlinked still takes commits, and nobody ever reads them: looked at last, just before the commit.
      assertSameFile(this.#of.location, this.#of.file);
      database.exec("commit");
      return { type: "committed" };
    } catch (error) {
      rollBack(database);
      throw error;
    }
  }

  #statement(database: Database.Database, at: number): Database.Statement {
    const known = this.#statements[at];
    if (known !== undefined) return known;
    const text = this.#texts[at];
    if (text === undefined) throw new LedgerError("ledger-failed", "A statement came without its text.");
    const statement = database.prepare(text);
    this.#statements[at] = statement;
    return statement;
  }
}
