import { setImmediate } from "node:timers/promises";
import type { Worker } from "node:worker_threads";

/** Threads that a part of the work may go to beside the main one: a compiled script, and how many at most. */
export interface Threads {
  readonly script: URL;
  readonly count: number;
}

/** Work on many items of a kind, each of which gives a result. */
export interface CrewWork<Item, Result> {
  readonly items: readonly Item[];
  readonly threads?: Threads | undefined;
  /** Ends the work in the middle. */
  readonly signal?: AbortSignal | undefined;
  /** A thread of its own pays from so many items on. */
  readonly itemsPerThread: number;
  /** So many go to a thread at once, and half of that to the main one, which has to listen in between. */
  readonly batch: number;
  /** What a thread is told to do with some items; it answers with their results, in their order. */
  readonly order: (items: readonly Item[]) => unknown;
  /** The same for one item, on this thread. */
  readonly work: (item: Item) => Result;
  /** Takes each result as it comes, in no order. */
  readonly take: (index: number, result: Result) => void;
}

/**
 * Does the work, on several threads when there is much. A thread that fails leaves its share to the others; the main
 * thread always does a part itself. Rejects with the signal's reason when that is aborted.
 */
export async function shareOut<Item, Result>(crew: CrewWork<Item, Result>): Promise<void> {
  const { items, threads, itemsPerThread, signal } = crew;
  const queue = new Queue(items);
  const count = Math.min(threads?.count ?? 0, Math.floor(items.length / itemsPerThread));
  const workers = threads === undefined || count === 0 ? [] : await startWorkers(threads.script, count);
  const helpers = workers.map((worker) => help(worker, queue, crew));
  const dismiss = () => Promise.all(workers.map((worker) => worker.terminate()));
  signal?.addEventListener("abort", dismiss);
  try {
    do {
      await workOff(queue, crew);
      await Promise.all(helpers);
      signal?.throwIfAborted();
    } while (!queue.isEmpty);
  } finally {
    signal?.removeEventListener("abort", dismiss);
    await dismiss();
  }
}

async function workOff<Item, Result>(
  queue: Queue<Item>,
  { batch, work, take, signal }: CrewWork<Item, Result>,
): Promise<void> {
  for (;;) {
    const share = queue.next(batch / 2);
    if (share === undefined) return;
    for (const [offset, item] of share.items.entries()) take(share.start + offset, work(item));
    // Signals, answers of the threads and a progress line get their turn.
    await setImmediate();
    signal?.throwIfAborted();
  }
}

/** As many as can be started: processes may be limited, or may have no threads. */
async function startWorkers(script: URL, count: number): Promise<readonly Worker[]> {
  const { Worker } = await import("node:worker_threads");
  const workers: Worker[] = [];
  try {
    while (workers.length < count) workers.push(new Worker(script));
  } catch {
    // The others do its share.
  }
  return workers;
}

interface Share<Item> {
  readonly start: number;
  readonly items: readonly Item[];
}

/** What is still to be done. */
class Queue<Item> {
  readonly #items: readonly Item[];
  readonly #returned: Share<Item>[] = [];
  #at = 0;

  constructor(items: readonly Item[]) {
    this.#items = items;
  }

  get isEmpty(): boolean {
    return this.#returned.length === 0 && this.#at >= this.#items.length;
  }

  next(size: number): Share<Item> | undefined {
    const returned = this.#returned.pop();
    if (returned !== undefined) return returned;
    if (this.#at >= this.#items.length) return undefined;
    const start = this.#at;
    this.#at = Math.min(start + size, this.#items.length);
    return { start, items: this.#items.slice(start, this.#at) };
  }

  giveBack(share: Share<Item>): void {
    this.#returned.push(share);
  }
}

/** Keeps a thread at work until nothing is left, with one share waiting while it does another. Never fails. */
function help<Item, Result>(
  worker: Worker,
  queue: Queue<Item>,
  { batch, order, take }: CrewWork<Item, Result>,
): Promise<void> {
  return new Promise((done) => {
    const under: Share<Item>[] = [];
    const give = () => {
      const share = queue.next(batch);
      if (share === undefined) return;
      under.push(share);
      worker.postMessage(order(share.items));
    };
    const end = () => {
      for (const share of under.splice(0)) queue.giveBack(share);
      void worker.terminate().then(
        () => done(),
        () => done(),
      );
    };
    worker.on("message", (results: readonly Result[]) => {
      const share = under.shift();
      if (share !== undefined)
        for (const [offset, result] of results.entries()) take(share.start + offset, result);
      give();
      if (under.length === 0) end();
    });
    worker.on("error", end);
    worker.on("exit", end);
    worker.on("messageerror", end);
    give();
    give();
    if (under.length === 0) end();
  });
}
