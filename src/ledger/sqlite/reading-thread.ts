import type { QueryResult, TransactionSettings } from "kysely";
import { LedgerError } from "../ledger-error.ts";
import { AnsweringThread } from "./answering-thread.ts";
import type { OpenedFile, StillFile } from "./ledger-file.ts";
import type { Session } from "./sqlite-session.ts";
import { failureOf, type ToldFailure } from "./told-failure.ts";

/** A thread that may read a SQLite ledger: the compiled `reading-worker`, and from how many bytes of a ledger on. */
export interface ReadingThreadOptions {
  readonly script: URL;
  readonly leastBytes: number;
}

/** What the thread is told: `open` comes first; `close` last, and has no reply. */
export type ReadingOrder =
  | { readonly type: "begin"; readonly settings: TransactionSettings }
  | { readonly type: "query"; readonly text: string; readonly parameters: readonly unknown[] }
  | { readonly type: "open" | "commit" | "rollback" }
  | "close";

/** What the thread replies; `failed`: as the same failure is told of without it. */
export type ReadingReply =
  | { readonly type: "opened"; readonly still: StillFile | undefined }
  | { readonly type: "done"; readonly rows: readonly unknown[] }
  | ToldFailure;

/** A session that reads on another thread: this one goes on while SQLite makes a text of a hundred thousand rows. */
export class ReadingThread implements Session {
  readonly #thread: AnsweringThread<ReadingOrder, ReadingReply>;
  readonly #location: string;

  constructor(script: URL, file: OpenedFile) {
    this.#thread = new AnsweringThread(script, file);
    this.#location = file.location;
  }

  /** Opens the file as `connectToRead` does, once; when that fails, the thread ends. `undefined`: there is no such thread. */
  async open(): Promise<{ readonly still: StillFile | undefined } | undefined> {
    const reply = await this.#thread.ask({ type: "open" });
    if (reply?.type === "opened") return reply;
    await this.close();
    if (reply?.type === "failed") throw failureOf(reply);
    return undefined;
  }

  async begin(settings: TransactionSettings): Promise<void> {
    await this.#ask({ type: "begin", settings });
  }

  async commit(): Promise<void> {
    await this.#ask({ type: "commit" });
  }

  async rollback(): Promise<void> {
    await this.#ask({ type: "rollback" });
  }

  async query<Row>(text: string, parameters: readonly unknown[]): Promise<QueryResult<Row>> {
    return { rows: (await this.#ask({ type: "query", text, parameters })) as Row[] };
  }

  async close(): Promise<void> {
    await this.#thread.end("close");
  }

  async #ask(order: ReadingOrder): Promise<readonly unknown[]> {
    const reply = await this.#thread.ask(order);
    if (reply?.type === "failed") throw failureOf(reply);
    if (reply?.type === "done") return reply.rows;
    throw new LedgerError(
      "ledger-failed",
      `The thread that reads the ledger ${this.#location} ended early.`,
      {
        hint: "Run again: nothing was changed.",
      },
    );
  }
}
