import { LedgerError } from "../ledger-error.ts";
import { type Step, StepRefusedError } from "../step.ts";
import { AnsweringThread } from "./answering-thread.ts";
import type { OpenedFile } from "./ledger-file.ts";
import type { CommitOrder, CommitReply, CommitterMessage } from "./step-committer.ts";
import { failureOf } from "./told-failure.ts";

/** A thread that may commit for a SQLite ledger: the compiled `commit-worker`, and from how many steps in one transaction on. */
export interface CommitThreadOptions {
  readonly script: URL;
  readonly crowd: number;
}

/** Of a step, the number that its text has on the other side. */
class Texts {
  readonly #numbers = new Map<string, number>();

  /** What the other side needs to carry these steps out. */
  order(steps: readonly Step[]): CommitOrder {
    const texts: string[] = [];
    const numbers: number[] = [];
    const values: (string | number | null)[] = [];
    for (const { sql, parameters, refusal } of steps) {
      let number = this.#numbers.get(sql);
      if (number === undefined) {
        number = this.#numbers.size;
        this.#numbers.set(sql, number);
        texts.push(sql);
      }
      numbers.push(number, refusal === undefined ? 0 : 1, parameters.length);
      for (const value of parameters) values.push(value);
    }
    return { texts, steps: numbers, values };
  }
}

/**
 * Commits on another thread, so that no call of this one waits for the disk but those that the commit is for. One
 * transaction at a time.
 *
 * ```
 *   order ──► [ begin, steps, same file?, commit, fsync ] ──► committed, refused or failed
 *                └── the thread ends without an answer: of its first order nothing was stored; of a later one, who knows
 * ```
 */
export class CommitThread {
  readonly #thread: AnsweringThread<CommitterMessage, CommitReply>;
  readonly #location: string;
  readonly #texts = new Texts();
  #hasReplied = false;

  constructor(script: URL, file: OpenedFile) {
    this.#thread = new AnsweringThread(script, file);
    this.#location = file.location;
  }

  /**
   * True once the steps are on disk; false when there is no such thread, and then nothing was done. Rejects with
   * {@link StepRefusedError} or a LedgerError, and then nothing is stored, unless its code is `ledger-outcome-unknown`.
   */
  async commit(steps: readonly Step[]): Promise<boolean> {
    if (this.#thread.isGone) return false;
    const reply = await this.#thread.ask(this.#texts.order(steps));
    if (reply === undefined) {
      if (!this.#hasReplied) return false;
      throw endedMeanwhile(this.#location);
    }
    this.#hasReplied = true;
    switch (reply.type) {
      case "committed":
        return true;
      case "refused":
        throw refusalOf(steps[reply.at]);
      case "failed":
        throw failureOf(reply);
    }
  }

  /** Ends the thread, once it has closed its connection. */
  async close(): Promise<void> {
    await this.#thread.end("close");
  }
}

function endedMeanwhile(location: string): LedgerError {
  return new LedgerError(
    "ledger-outcome-unknown",
    `The thread that writes to the ledger ${location} ended while a change was being committed; whether it is stored is not known.`,
    { hint: "Run again: the next run reads what the ledger holds and goes on from there." },
  );
}

function refusalOf(step: Step | undefined): Error {
  return step === undefined
    ? new LedgerError("ledger-failed", "A step was refused that is not there.")
    : new StepRefusedError(step);
}
