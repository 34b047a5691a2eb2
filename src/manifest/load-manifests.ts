import { compareText } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { hasErrors } from "../model/diagnostic.ts";
import type { NonEmpty } from "../model/non-empty.ts";
import { nonEmpty } from "../model/non-empty.ts";
import type { SourceLocation } from "../model/source-location.ts";
import { checkSources } from "./check-sources.ts";
import { DesiredCollector } from "./collect-desired.ts";
import { decodeText } from "./decode-text.ts";
import { noteVersions } from "./file-versions.ts";
import { findFiles } from "./find-files.ts";
import { readManifest } from "./read-manifest.ts";
import { type ReadPagesOptions, readPages } from "./read-pages.ts";
import { SourceText } from "./source-text.ts";

/** What {@link loadManifests} needs. */
export interface LoadManifestsOptions extends ReadPagesOptions {
  /** Glob patterns relative to the workspace; one that starts with `!` excludes. */
  readonly patterns: readonly string[];
  /** Where the config has each pattern, for what is wrong with one. */
  readonly patternLocations?: readonly (SourceLocation | undefined)[];
  /** `hash`: local sources are read and have a `content`. `stat`: it is only checked that they exist. */
  readonly sources: "hash" | "stat";
}

/** The content of all manifests, or at least one error: there is no part of it to plan with. */
export type LoadedManifests =
  | {
      readonly ok: true;
      readonly desired: Desired;
      /** Warnings. */
      readonly diagnostics: readonly Diagnostic[];
      /** The manifests that were found, relative to the workspace, sorted. */
      readonly files: readonly string[];
    }
  | {
      readonly ok: false;
      /** Errors, at least one, and warnings, sorted by file and place; those without a place come first. */
      readonly diagnostics: NonEmpty<Diagnostic>;
      readonly files: readonly string[];
    };

/**
 * Reads all manifests of a workspace. Every mistake in them is a diagnostic, and all are found in one run; nothing
 * that a user wrote makes it throw. No network, no ledger. Rejects with the signal's reason when that is aborted.
 *
 * ```
 *   files ──> bytes ──> digest ─┬─ unchanged ──> page of the previous run ─┐
 *                               └─ changed ────> YAML ──> page ────────────┴──> desired
 * ```
 */
export async function loadManifests(options: LoadManifestsOptions): Promise<LoadedManifests> {
  const { root, patterns, patternLocations, sources, signal } = options;
  const { files, diagnostics: found } = await findFiles(root, patterns, patternLocations);
  const findChanged = noteVersions(root, files);
  const textOf = (file: string) => readText(root, file);
  const collector = new DesiredCollector(textOf);
  const diagnostics = [...found];
  for (const [index, page] of (await readPages(options, files)).entries()) {
    if ("severity" in page) diagnostics.push(page);
    else collector.add(files[index] ?? "", page);
  }
  for (const diagnostic of collector.diagnostics) diagnostics.push(diagnostic);
  const uses = collector.sourceUses;
  for (const diagnostic of await checkSources({ root, uses, sources, textOf, signal })) {
    diagnostics.push(diagnostic);
  }
  for (const diagnostic of findChanged()) diagnostics.push(diagnostic);
  diagnostics.sort(compareDiagnostics);
  const failed = hasErrors(diagnostics) ? nonEmpty(diagnostics) : undefined;
  if (failed !== undefined) return { ok: false, diagnostics: failed, files };
  return { ok: true, desired: collector.desired, diagnostics, files };
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
