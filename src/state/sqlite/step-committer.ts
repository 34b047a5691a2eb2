import type Database from "libsql";
import { LedgerError } from "../ledger-error.ts";
import type { Step } from "../step.ts";
import { assertSameFile, type FileIdentity } from "./ledger-file.ts";
import { connect } from "./sqlite-connection.ts";
import { type ToldFailure, tellFailure } from "./told-failure.ts";

/** The file that a {@link StepCommitter} writes to. */
export interface CommitterFile {
  readonly location: string;
  /** As the ledger found it when it was opened: no other is written to. */
  readonly file: FileIdentity | undefined;
}

/** Steps of one transaction, as they go from one thread to the other: each text is sent once, and then named by its place. */
export interface CommitOrder {
  /** Texts that follow those of the orders before. */
  readonly texts: readonly string[];
  readonly steps: readonly (readonly [text: number, mustChange: boolean, parameters: Step["parameters"]])[];
}

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
  readonly #of: CommitterFile;
  readonly #texts: string[] = [];
  readonly #statements: Database.Statement[] = [];
  #database: Database.Database | undefined;

  constructor(of: CommitterFile) {
    this.#of = of;
  }

  /** Replies once the steps are on disk, or nothing of them is. */
  commit({ texts, steps }: CommitOrder): CommitReply {
    this.#texts.push(...texts);
    try {
      this.#database ??= this.#open();
      return this.#transact(this.#database, steps);
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

  #transact(database: Database.Database, steps: CommitOrder["steps"]): CommitReply {
    database.exec("begin immediate");
    try {
      for (const [at, [text, mustChange, parameters]] of steps.entries()) {
        const { changes } = this.#statement(database, text).run(parameters);
        if (changes > 0 || !mustChange) continue;
        database.exec("rollback");
        return { type: "refused", at };
      }
      // A file that was unlinked still takes commits, and nobody ever reads them: looked at last, just before the commit.
      assertSameFile(this.#of.location, this.#of.file);
      database.exec("commit");
      return { type: "committed" };
    } catch (error) {
      // A full disk and some other failures have rolled back already (https://www.sqlite.org/lang_transaction.html §3).
      if (database.inTransaction) database.exec("rollback");
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
