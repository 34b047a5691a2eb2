import { setImmediate } from "node:timers/promises";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Threads } from "./crew.ts";
import type { KeptFile } from "./kept-file.ts";
import type { MadePage } from "./make-page.ts";
import type { Page } from "./page.ts";
import { readPageCache, type StoredPage, writePageCache } from "./page-cache.ts";
import { decodePage } from "./page-codec.ts";
import { readManifest } from "./read-manifest.ts";
import { readPage } from "./read-page.ts";

/** What {@link readPages} needs. */
export interface ReadPagesOptions {
  /** The absolute workspace folder. */
  readonly root: string;
  /** Threads that read a part of many manifests; without them this one reads all. */
  readonly threads?: Threads;
  /** Where what was read of many manifests is kept for the next run. */
  readonly cache?: PageCacheOptions;
  /** Ends the reading in the middle. */
  readonly signal?: AbortSignal;
}

/** A file for the pages of one workspace, and what else they depend on: another version's are not used. */
export interface PageCacheOptions {
  readonly path: string;
  readonly version: string;
}

/** Between so many files other work of the process (a signal, a progress line) gets its turn. */
const filesInARow = 100;
/** The same where each of them is parsed. */
const fewInARow = 16;

const utf8 = new TextDecoder();

/** Fewer manifests are read in the time that it takes to look after a cache, or to start a thread. */
const minToKeep = 200;

/** The page of each file, or why there is none, in their order. Rejects with the signal's reason when that is aborted. */
export async function readPages(
  { cache, ...crew }: ReadPagesOptions,
  files: readonly string[],
): Promise<readonly (Page | Diagnostic)[]> {
  if (files.length < minToKeep) return readFewPages(crew, files);
  const { compareAll, makeAllPages } = await import("./page-crew.ts");
  const shelf = await openShelf(cache, files);
  const kept = shelf.kept;
  await compareAll(crew, kept, (at, isAsKept) => {
    const file = kept[at];
    if (isAsKept && file !== undefined) shelf.takeKept(file);
  });
  const missing = shelf.missing;
  const names = missing.map((index) => files[index] ?? "");
  await makeAllPages(crew, names, (at, made) => shelf.take(missing[at] ?? 0, made));
  await shelf.finish(crew.signal);
  return shelf.pages;
}

/** On this thread, and for nobody else: no page has to be encoded. */
async function readFewPages(
  { root, signal }: Pick<ReadPagesOptions, "root" | "signal">,
  files: readonly string[],
): Promise<readonly (Page | Diagnostic)[]> {
  const pages: (Page | Diagnostic)[] = [];
  for (const [index, file] of files.entries()) {
    if (index % fewInARow === fewInARow - 1) await setImmediate();
    signal?.throwIfAborted();
    const read = readManifest(root, file);
    pages.push(read.ok ? readPage(file, read.bytes, { isOneOfFew: true }) : read.diagnostic);
  }
  return pages;
}

async function openShelf(cache: PageCacheOptions | undefined, files: readonly string[]): Promise<PageShelf> {
  const known =
    cache === undefined ? new Map<string, StoredPage>() : await readPageCache(cache.path, cache.version);
  return new PageShelf(files, { cache, known });
}

/** A file with its place among the others. */
interface PlacedFile extends KeptFile {
  readonly index: number;
}

/** The pages of a workspace: those of the run before where a file is as it was, and those that were made in this one. */
class PageShelf {
  readonly pages: (Page | Diagnostic)[];
  readonly #files: readonly string[];
  readonly #cache: PageCacheOptions | undefined;
  readonly #known: ReadonlyMap<string, StoredPage>;
  readonly #kept = new Map<string, StoredPage>();
  /** Whether the next run would find something else than this one. */
  #isNews: boolean;

  constructor(
    files: readonly string[],
    {
      cache,
      known,
    }: { readonly cache: PageCacheOptions | undefined; readonly known: ReadonlyMap<string, StoredPage> },
  ) {
    this.pages = new Array(files.length);
    this.#files = files;
    this.#cache = cache;
    this.#known = known;
    this.#isNews = files.length !== known.size;
  }

  /** The files of which a run before left a page. */
  get kept(): readonly PlacedFile[] {
    return this.#files.flatMap((file, index) => {
      const known = this.#known.get(file);
      return known === undefined ? [] : [{ index, file, digest: known.digest }];
    });
  }

  /** Takes the page of a run before, if it is one. */
  takeKept({ index, file }: PlacedFile): void {
    const known = this.#known.get(file);
    const page = known === undefined ? undefined : decodeOrNone(file, known);
    if (known === undefined || page === undefined) return;
    this.pages[index] = page;
    this.#kept.set(file, known);
  }

  /** The places of the files of which no page has been taken. */
  get missing(): readonly number[] {
    return [...this.#files.keys()].filter((index) => this.pages[index] === undefined);
  }

  /** Takes a page that was made in this run, on this thread or on another one. */
  take(index: number, made: MadePage): void {
    this.#isNews = true;
    if ("diagnostic" in made) this.pages[index] = made.diagnostic;
    else this.#kept.set(this.#files[index] ?? "", made);
  }

  /**
   * Unpacks what was made, and keeps it for the next run. Not before all is made: the parsing leaves much behind, and whatever
   * is alive then is moved about in memory with every collection of it.
   */
  async finish(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#isNews) return;
    for (const [index, file] of this.#files.entries()) {
      if (index % filesInARow === filesInARow - 1) await setImmediate();
      signal?.throwIfAborted();
      const made = this.pages[index] === undefined ? this.#kept.get(file) : undefined;
      if (made !== undefined) this.pages[index] = decodePage(file, utf8.decode(made.encoded));
    }
    if (this.#cache !== undefined) await writePageCache(this.#cache.path, this.#cache.version, this.#kept);
  }
}

/** What was kept is whatever somebody has written there: what is no page counts as not kept. */
function decodeOrNone(file: string, { encoded }: StoredPage): Page | undefined {
  try {
    return decodePage(file, utf8.decode(encoded));
  } catch {
    return undefined;
  }
}
