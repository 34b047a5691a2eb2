import { hash, randomUUID } from "node:crypto";
import { mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { ParsedManifest } from "./parsed-manifest.ts";

/** A file for the parsed manifests of one workspace. */
export interface ParseCacheOptions {
  readonly path: string;
  /** Identifies the code that parses manifests: another version's results are not used. */
  readonly version: () => string;
}

/** A parsed file. Its digest ({@link digestOf}) and its version when it was read are absent when it cannot be read. */
export interface ParsedFile {
  readonly digest?: string;
  readonly version?: string;
  readonly parsed: ParsedManifest;
  /** `parsed` as text, if a worker made it. */
  readonly json?: string;
}

/** A parsed file on its way between threads: a text is copied faster than its objects. */
export type ParsedText = Omit<ParsedFile, "parsed"> & { readonly json: string };

const filesPerTurn = 100;

/** Identifies a manifest's path and content. The path counts: locations and diagnostics contain it. */
export function digestOf(file: string, bytes: Uint8Array): string {
  return `${sha256(bytes)} ${file}`;
}

/**
 * Reads the cache of a previous run: parsed manifests by {@link digestOf}. A cache that is missing, damaged, or from a different
 * version or user counts as empty. Entries are not validated further: the digest in the first line covers them.
 *
 * ```
 *   {"format":"draftsync parse cache","version":…,"sha256":<of all that follows>}
 *   ["<digest of the content> <path>",<parsed manifest>]
 *   …
 * ```
 */
export async function readParseCache(
  { path, version }: ParseCacheOptions,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, ParsedManifest>> {
  const cache = new Map<string, ParsedManifest>();
  const bytes = await readOwnFile(path).catch(() => Buffer.alloc(0));
  const start = bytes.indexOf("\n") + 1;
  const body = bytes.subarray(start);
  if (bytes.toString("utf8", 0, start) !== headerOf(version(), body)) return cache;
  await forEachYielding(linesOf(body), { size: filesPerTurn, signal }, (line) => {
    const [digest, parsed]: [string, ParsedManifest] = JSON.parse(line);
    cache.set(digest, parsed);
  });
  return cache;
}

/** Replaces the cache in one step. A failure is ignored: the next run parses the manifests again. */
export async function writeParseCache(
  { path, version }: ParseCacheOptions,
  files: readonly ParsedFile[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const lines: Buffer[] = [];
  await forEachYielding(
    files,
    { size: filesPerTurn, signal },
    ({ digest, parsed, json = JSON.stringify(parsed) }) => {
      if (digest !== undefined) lines.push(Buffer.from(`[${JSON.stringify(digest)},${json}]\n`));
    },
  );
  const body = Buffer.concat(lines);
  const temporary = `${path}.${randomUUID()}`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(temporary, [headerOf(version(), body), body], { mode: 0o600, flag: "wx" });
    await rename(temporary, path);
  } catch {
    await rm(temporary, { force: true }).catch(() => {});
  }
}

/** The content of a file, empty when another user owns it: the cache folder may be shared. */
async function readOwnFile(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { uid } = await file.stat();
    return process.getuid === undefined || uid === process.getuid() ? await file.readFile() : Buffer.alloc(0);
  } finally {
    await file.close();
  }
}

function headerOf(version: string, body: Uint8Array): string {
  return `${JSON.stringify({ format: "draftsync parse cache", version, sha256: sha256(body) })}\n`;
}

function* linesOf(body: Buffer): Generator<string> {
  for (let start = 0; start < body.length; ) {
    const end = body.indexOf("\n", start);
    yield body.toString("utf8", start, end);
    start = end + 1;
  }
}

function sha256(data: Uint8Array | string): string {
  return hash("sha256", data, "base64url");
}

/**
 * Calls `visit` with each item. After every `size` items the event loop runs, so that a signal or a progress line does
 * not wait for the rest. Rejects with the signal's reason when it is aborted.
 */
export async function forEachYielding<T>(
  items: Iterable<T>,
  { size, signal }: { readonly size: number; readonly signal: AbortSignal | undefined },
  visit: (item: T) => void,
): Promise<void> {
  let count = 0;
  for (const item of items) {
    count += 1;
    if (count % size === 0) await setImmediate();
    signal?.throwIfAborted();
    visit(item);
  }
}
