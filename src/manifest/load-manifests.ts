import { setImmediate } from "node:timers/promises";
import { compareText } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { checkSources } from "./check-sources.ts";
import { chooseDocument } from "./choose-document.ts";
import { DesiredCollector } from "./collect-desired.ts";
import { findFiles } from "./find-files.ts";
import { readManifest } from "./read-manifest.ts";
import { readYaml } from "./read-yaml.ts";

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

/**
 * Reads all manifests of a workspace. Every mistake in them is a diagnostic, and all are found in one run; nothing
 * that a user wrote makes it throw. No network, no ledger.
 */
export async function loadManifests(options: LoadManifestsOptions): Promise<LoadedManifests> {
  const { root, patterns, sources, maxBytes = Number.POSITIVE_INFINITY } = options;
  const { files, diagnostics: found } = await findFiles(root, patterns);
  const diagnostics = [...found];
  const collector = new DesiredCollector();
  let bytes = 0;
  for (const [index, file] of files.entries()) {
    if (bytes >= maxBytes) break;
    if (index % filesInARow === filesInARow - 1) await setImmediate();
    const added = addFile(root, file, collector);
    bytes += added.bytes;
    for (const diagnostic of added.diagnostics) diagnostics.push(diagnostic);
  }
  for (const diagnostic of collector.diagnostics) diagnostics.push(diagnostic);
  if (sources !== "unseen") {
    for (const diagnostic of await checkSources({ root, uses: collector.sourceUses, sources })) {
      diagnostics.push(diagnostic);
    }
  }
  return { desired: collector.desired, diagnostics: diagnostics.sort(compareDiagnostics), files };
}

function addFile(root: string, file: string, collector: DesiredCollector) {
  const read = readManifest(root, file);
  if (!read.ok) return { bytes: 0, diagnostics: [read.diagnostic] };
  const reading = readYaml({ file, bytes: read.bytes, schema: chooseDocument });
  const { documents, misfits, diagnostics, source } = reading;
  for (const document of documents) collector.add(document, source);
  for (const misfit of misfits) collector.addSourcesOf(misfit, source);
  return { bytes: read.bytes.length, diagnostics };
}

function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareText(a.place?.file ?? "", b.place?.file ?? "") ||
    (a.place?.line ?? 0) - (b.place?.line ?? 0) ||
    (a.place?.column ?? 0) - (b.place?.column ?? 0) ||
    compareText(a.code, b.code)
  );
}
