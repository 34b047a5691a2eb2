import { statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { compareText } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { checkSources } from "./check-sources.ts";
import { DesiredCollector } from "./collect-desired.ts";
import { decodeText } from "./decode-text.ts";
import { findFiles } from "./find-files.ts";
import type { Page } from "./page.ts";
import { digestOf, readPageCache, type StoredPage, writePageCache } from "./page-cache.ts";
import { decodePage } from "./page-codec.ts";
import type { PageThreads } from "./page-crew.ts";
import { readManifest } from "./read-manifest.ts";
import { readPage } from "./read-page.ts";
import { SourceText } from "./source-text.ts";

/** What {@link loadManifests} needs. */
export interface LoadManifestsOptions {
  /** The absolute workspace folder. */
  readonly root: string;
  /** Glob patterns relative to the workspace; one that starts with `!` excludes. */
  readonly patterns: readonly string[];
  /** `hash`: local sources are read and have a `content`. `stat`: it is only checked that they are there. `unseen`: not even that. */
  readonly sources: "hash" | "stat" | "unseen";
  /** After so many bytes no further manifest is read: for those who need some of it fast, never for a plan. */
  readonly maxBytes?: number;
  /** Threads that read a part of many manifests; without them this one reads all. */
  readonly threads?: PageThreads;
  /** Where what was read of many manifests is kept for the next run. */
  readonly cache?: PageCacheOptions;
}

/** A file for the pages of one workspace, and what else they depend on: another version's are not used. */
export interface PageCacheOptions {
  readonly path: string;
  readonly version: string;
}

/** What the manifests ask for, and what is wrong with them. */
export interface LoadedManifests {
  /** Whatever could be read. With errors among the diagnostics it is not whole and must not be planned with. */
  readonly desired: Desired;
  /** All of them, sorted by file and place; those without a place come first. */
  readonly diagnostics: readonly Diagnostic[];
  /** The manifests that were found, relative to the workspace, sorted. */
  readonly files: readonly string[];
}

/** Between so many files other work of the process (a signal, a progress line) gets its turn. */
const filesInARow = 100;
/** The same where each of them is parsed. */
const fewInARow = 16;

/** Fewer manifests are read in the time that it takes to look after a cache, or to start a thread. */
const fewestToKeep = 200;

/**
 * Reads all manifests of a workspace. Every mistake in them is a diagnostic, and all are found in one run; nothing
 * that a user wrote makes it throw. No network, no ledger.
 *
 * ```
 *   files ──> bytes ──> digest ─┬─ as it was ──> page of the run before ─┐
 *                               └─ another ────> YAML ──> page ──────────┴──> desired
 * ```
 */
export async function loadManifests(options: LoadManifestsOptions): Promise<LoadedManifests> {
  const { root, patterns, sources, maxBytes } = options;
  const { files, diagnostics: found } = await findFiles(root, patterns);
  const textOf = (file: string) => readText(root, file);
  const collector = new DesiredCollector(textOf);
  const diagnostics = [...found];
  const chosen = maxBytes === undefined ? files : leadingFiles(root, files, maxBytes);
  for (const [index, page] of (await readPages(options, chosen)).entries()) {
    if ("severity" in page) diagnostics.push(page);
    else collector.add(chosen[index] ?? "", page);
  }
  for (const diagnostic of collector.diagnostics) diagnostics.push(diagnostic);
  if (sources !== "unseen") {
    for (const diagnostic of await checkSources({ root, uses: collector.sourceUses, sources, textOf })) {
      diagnostics.push(diagnostic);
    }
  }
  return { desired: collector.desired, diagnostics: diagnostics.sort(compareDiagnostics), files };
}

/** The first files, which together have so many bytes or a few more. */
function leadingFiles(root: string, files: readonly string[], maxBytes: number): readonly string[] {
  let bytes = 0;
  const end = files.findIndex((file) => {
    const isEnough = bytes >= maxBytes;
    bytes += statSync(join(root, file), { throwIfNoEntry: false })?.size ?? 0;
    return isEnough;
  });
  return end < 0 ? files : files.slice(0, end);
}

/** The page of each file, or why there is none, in their order. */
async function readPages(
  { root, threads, cache }: LoadManifestsOptions,
  files: readonly string[],
): Promise<readonly (Page | Diagnostic)[]> {
  if (files.length < fewestToKeep) return readFewPages(root, files);
  const known =
    cache === undefined ? new Map<string, StoredPage>() : await readPageCache(cache.path, cache.version);
  const stored = new Map<string, StoredPage>();
  const pages = new Array<Page | Diagnostic>(files.length);
  const others: number[] = [];
  for (const [index, file] of files.entries()) {
    if (index % filesInARow === filesInARow - 1) await setImmediate();
    const before = known.get(file);
    const page =
      before !== undefined && isAsBefore(root, file, before) ? decodeOrNone(file, before) : undefined;
    if (page === undefined || before === undefined) others.push(index);
    else {
      pages[index] = page;
      stored.set(file, before);
    }
  }
  if (others.length > 0) {
    const { makeAllPages } = await import("./page-crew.ts");
    await makeAllPages({
      root,
      files: others.map((index) => files[index] ?? ""),
      ...(threads === undefined ? {} : { threads }),
      take: (at, made) => {
        const index = others[at] ?? 0;
        const file = files[index] ?? "";
        pages[index] = "diagnostic" in made ? made.diagnostic : decodePage(file, made.encoded);
        if (!("diagnostic" in made)) stored.set(file, made);
      },
    });
  }
  const isNews = others.length > 0 || stored.size !== known.size;
  if (cache !== undefined && isNews) await writePageCache(cache.path, cache.version, stored);
  return pages;
}

/** On this thread, and for nobody else: no page has to be encoded. */
async function readFewPages(root: string, files: readonly string[]): Promise<readonly (Page | Diagnostic)[]> {
  const pages: (Page | Diagnostic)[] = [];
  for (const [index, file] of files.entries()) {
    if (index % fewInARow === fewInARow - 1) await setImmediate();
    const read = readManifest(root, file);
    pages.push(read.ok ? readPage(file, read.bytes, { isOneOfFew: true }) : read.diagnostic);
  }
  return pages;
}

function isAsBefore(root: string, file: string, { digest }: StoredPage): boolean {
  const read = readManifest(root, file);
  return read.ok && digestOf(read.bytes) === digest;
}

/** What was kept is whatever somebody has written there: what is no page counts as not kept. */
function decodeOrNone(file: string, { encoded }: StoredPage): Page | undefined {
  try {
    return decodePage(file, encoded);
  } catch {
    return undefined;
  }
}

/** The text of a manifest; empty when it cannot be read any more. */
function readText(root: string, file: string): SourceText {
  const read = readManifest(root, file);
  const decoded = read.ok ? decodeText(file, read.bytes) : undefined;
  return decoded?.ok ? decoded.source : new SourceText(file, "");
}

function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareText(a.place?.file ?? "", b.place?.file ?? "") ||
    (a.place?.line ?? 0) - (b.place?.line ?? 0) ||
    (a.place?.column ?? 0) - (b.place?.column ?? 0) ||
    compareText(a.code, b.code)
  );
}
