import {
  digestOf,
  forEachYielding,
  type ParseCacheOptions,
  type ParsedFile,
  type ParsedText,
  readParseCache,
  writeParseCache,
} from "./parse-cache.ts";
import { parseFile } from "./parse-manifest.ts";
import type { ParseTask } from "./parse-worker.ts";
import { readManifest } from "./read-manifest.ts";

/** What {@link parseManifests} needs. */
export interface ParseManifestsOptions {
  /** The absolute workspace folder. */
  readonly root: string;
  /** Holds the results of many manifests for the next run. */
  readonly cache?: ParseCacheOptions;
  /** Parse many manifests that the cache does not hold. */
  readonly workers?: WorkerOptions;
  /** Ends the parsing early. */
  readonly signal?: AbortSignal;
}

/** The compiled `parse-worker.ts`, and the largest number of threads that run it. */
export interface WorkerOptions {
  readonly script: URL;
  readonly count: number;
}

/** Parsing fewer manifests takes less time than reading a cache. */
const minCached = 200;
/** Parsing fewer manifests takes less time than starting threads, which compile the parser again. */
const minPerWorker = 1000;
const filesPerTask = 128;
const filesPerTurn = 16;
/** Syntax trees are large and short-lived: in the default of 16 MB they are copied before they are dropped. */
const youngMegabytes = 64;

/**
 * Parses each file, relative to the root, unless the cache holds it. Results are in the order of the files. Rejects with
 * the signal's reason when it is aborted.
 */
export async function parseManifests(
  options: ParseManifestsOptions,
  files: readonly string[],
): Promise<readonly ParsedFile[]> {
  const { root, signal } = options;
  const isOneOfFew = files.length < minCached;
  const cache = isOneOfFew ? undefined : options.cache;
  const cached = cache === undefined ? undefined : await readParseCache(cache, signal);
  const results = new Map<string, ParsedFile>();
  await forEachYielding(cached?.size ? files : [], { size: filesPerTurn, signal }, (file) => {
    const read = readManifest(root, file);
    if (!read.ok) return;
    const digest = digestOf(file, read.bytes);
    const parsed = cached?.get(digest);
    if (parsed !== undefined) results.set(file, { digest, version: read.version, parsed });
  });
  const changed = files.filter((file) => !results.has(file));
  await parseOnWorkers(options, changed, results);
  const left = changed.filter((file) => !results.has(file));
  await forEachYielding(left, { size: filesPerTurn, signal }, (file) => {
    results.set(file, parseFile(root, file, { isOneOfFew }));
  });
  const sorted = files.flatMap((file) => results.get(file) ?? []);
  if (cache !== undefined && (changed.length > 0 || cached?.size !== files.length)) {
    await writeParseCache(cache, sorted, signal);
  }
  return sorted;
}

/** Adds results of many files. When the pool fails, for want of memory or threads, the caller parses the rest. */
async function parseOnWorkers(
  { root, workers, signal }: ParseManifestsOptions,
  files: readonly string[],
  results: Map<string, ParsedFile>,
): Promise<void> {
  const count = Math.min(workers?.count ?? 0, Math.floor(files.length / minPerWorker));
  if (workers === undefined || count < 2) return;
  const { default: Tinypool } = await import("tinypool");
  if (signal?.aborted) return;
  const pool = new Tinypool({
    filename: workers.script.href,
    minThreads: 0,
    maxThreads: count,
    resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
  });
  // One listener for all tasks, as Node warns of more than ten.
  const stop = () => void pool.destroy();
  signal?.addEventListener("abort", stop);
  const parse = async (part: readonly string[]) => {
    const task: ParseTask = { root, files: part };
    const parsed: readonly ParsedText[] = await pool.run(task);
    for (const [index, file] of part.entries()) {
      const result = parsed[index];
      if (result !== undefined) results.set(file, { ...result, parsed: JSON.parse(result.json) });
    }
  };
  // Each worker that fails at its start emits an error.
  const failed = new Promise((_resolve, reject) => pool.on("error", reject));
  const isComplete = await Promise.race([failed, Promise.all(parts(files).map(parse))]).then(
    () => true,
    () => false,
  );
  signal?.removeEventListener("abort", stop);
  // A failed pool starts no further workers, and to destroy it while one of them fails would throw.
  if (isComplete) await pool.destroy();
}

function parts(files: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(files.length / filesPerTask);
  return Array.from({ length: count }, (_none, at) =>
    files.slice(at * filesPerTask, (at + 1) * filesPerTask),
  );
}
