import { Worker } from "node:worker_threads";

/**
 * A thread that gives one reply to each order, in their order. It keeps the process alive while it owes one, and not longer.
 * One that cannot be started, where processes are limited or may have no threads, is gone from the beginning.
 */
export class AnsweringThread<Order, Reply> {
  readonly #worker: Worker | undefined;
  readonly #ended: Promise<void>;
  /** Takes the reply of each order that has none yet. */
  readonly #owed: ((reply: Reply | undefined) => void)[] = [];
  #isEnding = false;
  #isGone = false;

  /** `data` is what the script finds as its `workerData`. */
  constructor(script: URL, data: unknown) {
    this.#worker = startWorker(script, data);
    this.#ended = new Promise((resolve) => {
      const end = () => {
        this.#isGone = true;
        for (const settle of this.#owed.splice(0)) settle(undefined);
        resolve();
      };
      if (this.#worker === undefined) end();
      this.#worker?.once("error", end);
      this.#worker?.once("exit", end);
    });
    this.#worker?.on("message", (reply: Reply) => this.#settle(reply));
    this.#worker?.unref();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** The reply; `undefined` when the thread has ended without one. */
  ask(order: Order): Promise<Reply | undefined> {
    if (this.#isGone) return Promise.resolve(undefined);
    this.#worker?.ref();
    return new Promise((resolve) => {
      this.#worker?.postMessage(order);
      this.#owed.push(resolve);
    });
  }

  /** Gives the last order, upon which the thread ends without a reply; resolves once it has. */
  async end(order: Order): Promise<void> {
    if (this.#isGone) return;
    this.#isEnding = true;
    this.#worker?.ref();
    this.#worker?.postMessage(order);
    await this.#ended;
  }

  #settle(reply: Reply): void {
    this.#owed.shift()?.(reply);
    if (this.#owed.length === 0 && !this.#isEnding) this.#worker?.unref();
  }
}

function startWorker(script: URL, data: unknown): Worker | undefined {
  try {
    return new Worker(script, { workerData: data });
  } catch {
    return undefined;
  }
}
