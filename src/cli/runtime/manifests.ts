import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SourceCheck } from "../../manifest/check-files.ts";
import { type LoadedManifests, loadManifests } from "../../manifest/load-manifests.ts";
import type { ParseManifestsOptions } from "../../manifest/parse-manifests.ts";
import { publicationAddress } from "../../model/address.ts";
import { attachmentsByAddress, type Desired } from "../../model/desired.ts";
import { lazily } from "../../model/lazily.ts";
import { allAttributeNames } from "../../model/resource.ts";
import { locationAt, positionAt, type SourceLocation } from "../../model/source-location.ts";
import type { LocationFinder } from "../../report/failures.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { packageFolder } from "../package-files.ts";
import { DiagnosticsError, interruptedWhile } from "./cli-error.ts";

/** Reads the manifests. Throws {@link CliError} `aborted` after an interrupt. */
export async function readManifests(
  { env, signal }: Pick<Cli, "env" | "signal">,
  config: Config,
  sources: SourceCheck,
): Promise<LoadedManifests> {
  return await loadManifests({
    root: config.root,
    patterns: config.manifests,
    patternLocations: config.manifestLocations,
    secretFiles: [config.service.apiKeyFile, config.notify.urlFile].filter((file) => file !== undefined),
    sources,
    signal,
    ...parseCacheOptions(config.root, env),
  }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw interruptedWhile("reading the manifests");
  });
}

/** As {@link readManifests}; throws {@link DiagnosticsError} with everything that was found when any of it is an error. */
export async function loadDesired(
  cli: Pick<Cli, "env" | "signal">,
  config: Config,
  sources: SourceCheck,
): Promise<Extract<LoadedManifests, { ok: true }>> {
  const loaded = await readManifests(cli, config, sources);
  if (!loaded.ok) throw new DiagnosticsError(loaded.diagnostics);
  return loaded;
}

/** Leads from an address, and an attribute's name, to the manifest line that wrote it. */
export function makeLocationFinder(desired: Desired): LocationFinder {
  const attachments = attachmentsByAddress(desired);
  const others = new Map<string, SourceLocation>([
    ...desired.drafts.map(
      ({ draftId, file, position, publish }) =>
        [publicationAddress(draftId), locationAt(file, publish?.position ?? position)] as const,
    ),
    ...desired.duplicates.map(
      ({ name, file, position }) => [`duplicates/${name}`, locationAt(file, position)] as const,
    ),
  ]);
  return (address, attribute) => {
    const attachment = attachments.get(address);
    if (attachment === undefined) return others.get(address);
    const { file, position, layout, defaults } = attachment;
    const name = attribute === "file_id" ? "ref" : allAttributeNames.find((known) => known === attribute);
    const offset = name === undefined ? undefined : layout[name];
    if (offset !== undefined) return locationAt(file, positionAt(position, offset));
    const byDefault = name === undefined || name === "ref" ? undefined : defaults?.[name];
    return byDefault ?? locationAt(file, position);
  };
}

/** More threads than these wait for the main one, which collects their results. */
const maxThreads = 8;

/**
 * The parse cache of a workspace, and the worker that parses many manifests. The cache is in the user's own cache folder:
 * a pull request can change any file of the workspace, and must not decide what a manifest contains. Sources that are
 * not compiled have neither.
 */
function parseCacheOptions(
  root: string,
  env: NodeJS.ProcessEnv,
): Pick<ParseManifestsOptions, "workers" | "cache"> {
  if (import.meta.url.endsWith(".ts")) return {};
  const workers = {
    script: new URL("dist/manifest/parse-worker.js", packageFolder),
    count: Math.min(availableParallelism(), maxThreads),
  };
  const folder = cacheFolder(env);
  if (folder === undefined) return { workers };
  const name = createHash("sha256").update(root).digest("hex").slice(0, 16);
  const path = join(folder, "draftsync", `${name}.jsonl`);
  return { workers, cache: { path, version: lazily(programVersion) } };
}

/**
 * The program's version, and a digest of its whole code, as any part may decide what a manifest contains. Modification
 * times do not tell versions apart: package managers set the same one for all files.
 */
function programVersion(): string {
  const hash = createHash("sha256").update(readFileSync(new URL("package.json", packageFolder)));
  const folder = fileURLToPath(new URL("dist/", packageFolder));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((file) => /\.js$/.test(file)).sort()) {
    hash.update(`${file}\n`).update(readFileSync(join(folder, file)));
  }
  return hash.digest("base64url");
}

/** https://specifications.freedesktop.org/basedir-spec/latest/ and its equivalent on Windows. */
function cacheFolder({
  XDG_CACHE_HOME: xdg,
  HOME: home,
  LOCALAPPDATA: local,
}: NodeJS.ProcessEnv): string | undefined {
  const folder = xdg || (process.platform === "win32" ? local : home && join(home, ".cache"));
  return folder !== undefined && isAbsolute(folder) ? folder : undefined;
}
