import { dirname } from "node:path";
import { compareText } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import { type Diagnostic, hasErrors } from "../model/diagnostic.ts";
import { type NonEmpty, nonEmpty } from "../model/lists.ts";
import type { SourceLocation } from "../model/source-location.ts";
import { checkFiles, type SourceCheck } from "./check-files.ts";
import { DesiredCollector } from "./collect-desired.ts";
import { findFiles } from "./find-files.ts";
import { type ParseManifestsOptions, parseManifests } from "./parse-manifests.ts";
import { below, versionOf } from "./paths.ts";
import { decodeText, readManifest } from "./read-manifest.ts";
import { SourceText } from "./source-text.ts";

/** What {@link loadManifests} needs. */
export interface LoadManifestsOptions extends ParseManifestsOptions {
  /** Glob patterns relative to the workspace; one that starts with `!` excludes. */
  readonly patterns: readonly string[];
  /** The location of each pattern in the config, for diagnostics. */
  readonly patternLocations?: readonly (SourceLocation | undefined)[];
  readonly sources: SourceCheck;
  /** Absolute paths of files that no manifest may use, such as that of the API key. */
  readonly secretFiles?: readonly string[];
}

/** The content of all manifests, or at least one error: a plan never uses a part of the manifests. */
export type LoadedManifests = (CompleteManifests | FailedManifests) & {
  /** Paths of the manifests, relative to the workspace, sorted. */
  readonly files: readonly string[];
  /** Those of them that have a `defaults` document. */
  readonly filesWithDefaults: readonly string[];
};

interface CompleteManifests {
  readonly ok: true;
  readonly desired: Desired;
  /** Warnings. */
  readonly diagnostics: readonly Diagnostic[];
}

interface FailedManifests {
  readonly ok: false;
  /** Errors, at least one, and warnings, sorted by location; those without a location come first. */
  readonly diagnostics: NonEmpty<Diagnostic>;
}

/**
 * Reads all manifests of a workspace. Every mistake in them is a diagnostic, and one run reports all of them; no
 * manifest makes it throw. No network, no ledger. Rejects with the signal's reason when it is aborted.
 *
 * ```
 *   files ──> bytes ──> digest ─┬─ in the parse cache ─────────────┐
 *                               └─ new ──> YAML ──> ParsedManifest ┴──> desired
 * ```
 */
export async function loadManifests(options: LoadManifestsOptions): Promise<LoadedManifests> {
  const { root, patterns, patternLocations, sources, signal } = options;
  const found = await findFiles(root, patterns, patternLocations);
  const { files } = found;
  const textOf = (file: string) => readText(root, file);
  const collector = new DesiredCollector(textOf);
  const diagnostics = [...found.diagnostics];
  const read = await parseManifests(options, files);
  const manifests = read.map(({ parsed }) => parsed);
  for (const [index, manifest] of manifests.entries()) collector.addDefaults(files[index] ?? "", manifest);
  // Defaults apply in each folder that has them, also by a link.
  for (const [link, file] of found.links) {
    const manifest = manifests[files.indexOf(file)];
    if (manifest !== undefined && dirname(link) !== dirname(file)) collector.addDefaults(link, manifest);
  }
  for (const [index, manifest] of manifests.entries()) collector.add(files[index] ?? "", manifest);
  for (const diagnostic of collector.diagnostics) diagnostics.push(diagnostic);
  const uses = collector.fileUses;
  for (const diagnostic of await checkFiles({
    root,
    uses,
    sources,
    textOf,
    signal,
    secretFiles: options.secretFiles,
  })) {
    diagnostics.push(diagnostic);
  }
  const changed = files.filter((file, index) => {
    const version = read[index]?.version;
    return version !== undefined && version !== versionOf(below(root, file));
  });
  for (const file of changed) diagnostics.push(changedManifest("file", file));
  // A manifest that is moved meanwhile may be missing under both names, and must not count as removed.
  const folders = changed.length > 0 ? [] : found.changedFolders();
  for (const folder of folders) diagnostics.push(changedManifest("folder", folder));
  diagnostics.sort(compareDiagnostics);
  const shared = { files, filesWithDefaults: collector.filesWithDefaults };
  const failed = hasErrors(diagnostics) ? nonEmpty(diagnostics) : undefined;
  if (failed !== undefined) return { ok: false, diagnostics: failed, ...shared };
  return { ok: true, desired: collector.desired, diagnostics, ...shared };
}

/** An error: the file, or a part of it, may have been missing when it was read, and the plan would delete that part. */
function changedManifest(kind: "file" | "folder", file: string): Diagnostic {
  return {
    severity: "error",
    code: "manifest-changed",
    message: `The ${kind} changed while the manifests were read`,
    hint: "Run again when no other program writes to it.",
    place: { file, line: 1, column: 1 },
  };
}

/** The text of a manifest; empty when it can no longer be read. */
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
