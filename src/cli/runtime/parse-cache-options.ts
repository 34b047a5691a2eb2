import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ParseManifestsOptions } from "../../manifest/parse-manifests.ts";
import { lazily } from "../../model/lazily.ts";
import { packageFolder } from "../package-files.ts";

/** More threads than these wait for the main one, which collects their results. */
const maxThreads = 8;

/**
 * The parse cache of a workspace, and the worker that parses many manifests. The cache is in the user's own cache folder:
 * a pull request can change any file of the workspace, and must not decide what a manifest contains. Sources that are
 * not compiled have neither.
 */
export function parseCacheOptions(
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
