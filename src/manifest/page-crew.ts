import { setImmediate } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { type MadePage, makePage } from "./make-page.ts";
import type { PageOrder } from "./page-worker.ts";

/** Threads that manifests may be read by beside the main one: the compiled `page-worker`, and how many at most. */
export interface PageThreads {
  readonly script: URL;
  readonly count: number;
}

/** What {@link makeAllPages} needs. */
export interface CrewOptions {
  readonly root: string;
  readonly files: readonly string[];
  readonly threads?: PageThreads;
  /** Takes each page as it comes, in no order. */
  readonly take: (index: number, made: MadePage) => void;
}

/** So many manifests go to a thread at once; the main one does fewer, since it has to listen in between. */
const batch = 32;
const ownBatch = 16;

/** A thread of its own pays from so many manifests on. */
const filesPerThread = 256;

/**
 * Makes the pages of all manifests, on several threads when there are many. A thread that fails leaves its share to the
 * others; the main thread always does a part itself.
 */
export async function makeAllPages({ root, files, threads, take }: CrewOptions): Promise<void> {
  const queue = new Queue(files);
  const count = Math.min(threads?.count ?? 0, Math.floor(files.length / filesPerThread));
  const workers = threads === undefined || count === 0 ? [] : await startWorkers(threads.script, count);
  const helpers = workers.map((worker) => help(worker, { root, queue, take }));
  for (;;) {
    const share = queue.next(ownBatch);
    if (share === undefined) {
      await Promise.all(helpers);
      if (queue.isEmpty) return;
      continue;
    }
    for (const [offset, file] of share.files.entries()) take(share.start + offset, makePage(root, file));
    // Signals, answers of the threads and a progress line get their turn.
    await setImmediate();
  }
}

async function startWorkers(script: URL, count: number): Promise<Worker[]> {
  const { Worker } = await import("node:worker_threads");
  return Array.from({ length: count }, () => new Worker(script));
}

interface Share {
  readonly start: number;
  readonly files: readonly string[];
}

/** What is still to be done. */
class Queue {
  readonly #files: readonly string[];
  readonly #returned: Share[] = [];
  #at = 0;

  constructor(files: readonly string[]) {
    this.#files = files;
  }

  get isEmpty(): boolean {
    return this.#returned.length === 0 && this.#at >= this.#files.length;
  }

  next(size: number): Share | undefined {
    const returned = this.#returned.pop();
    if (returned !== undefined) return returned;
    if (this.#at >= this.#files.length) return undefined;
    const start = this.#at;
    this.#at = Math.min(start + size, this.#files.length);
    return { start, files: this.#files.slice(start, this.#at) };
  }

  giveBack(share: Share): void {
    this.#returned.push(share);
  }
}

/** Keeps a thread at work until nothing is left, with one share waiting while it does another. Never fails. */
function help(
  worker: Worker,
  { root, queue, take }: Pick<CrewOptions, "root" | "take"> & { readonly queue: Queue },
): Promise<void> {
  return new Promise((done) => {
    const under: Share[] = [];
    const give = () => {
      const share = queue.next(batch);
      if (share === undefined) return;
      under.push(share);
      worker.postMessage({ root, files: share.files } satisfies PageOrder);
    };
    const end = () => {
      for (const share of under.splice(0)) queue.giveBack(share);
      void worker.terminate().then(
        () => done(),
        () => done(),
      );
    };
    worker.on("message", (pages: readonly MadePage[]) => {
      const share = under.shift();
      if (share !== undefined) for (const [offset, page] of pages.entries()) take(share.start + offset, page);
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
