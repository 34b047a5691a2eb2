import { statSync } from "node:fs";
import { join } from "node:path";
import { compareText } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { checkSources } from "./check-sources.ts";
import { DesiredCollector } from "./collect-desired.ts";
import { decodeText } from "./decode-text.ts";
import { findFiles } from "./find-files.ts";
import { readManifest } from "./read-manifest.ts";
import { type ReadPagesOptions, readPages } from "./read-pages.ts";
import { SourceText } from "./source-text.ts";

/** What {@link loadManifests} needs. */
export interface LoadManifestsOptions extends ReadPagesOptions {
  /** Glob patterns relative to the workspace; one that starts with `!` excludes. */
  readonly patterns: readonly string[];
  /** `hash`: local sources are read and have a `content`. `stat`: it is only checked that they are there. `unseen`: not even that. */
  readonly sources: "hash" | "stat" | "unseen";
  /** After so many bytes no further manifest is read: for those who need some of it fast, never for a plan. */
  readonly maxBytes?: number;
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

/**
 * Reads all manifests of a workspace. Every mistake in them is a diagnostic, and all are found in one run; nothing
 * that a user wrote makes it throw. No network, no ledger. Rejects with the signal's reason when that is aborted.
 *
 * ```
 *   files ──> bytes ──> digest ─┬─ as it was ──> page of the run before ─┐
 *                               └─ another ────> YAML ──> page ──────────┴──> desired
 * ```
 */
export async function loadManifests(options: LoadManifestsOptions): Promise<LoadedManifests> {
  const { root, patterns, sources, maxBytes, signal } = options;
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
    const uses = collector.sourceUses;
    for (const diagnostic of await checkSources({ root, uses, sources, textOf, signal })) {
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
