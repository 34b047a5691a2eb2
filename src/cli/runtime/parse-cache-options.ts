import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { LoadManifestsOptions } from "../../manifest/load-manifests.ts";
import { lazily } from "../../model/lazily.ts";

/** More threads than these wait for the main one, which takes their pages. */
const maxThreads = 7;

/**
 * What makes the reading of many manifests quick: other threads, and what a run before has kept. It is kept in the user's
 * own cache folder, since what stands in the workspace may come from a pull request: nobody else may say what a manifest
 * holds. Nothing of it is there in the sources, which are not compiled.
 */
export function parseCacheOptions(
  root: string,
  env: NodeJS.ProcessEnv,
): Pick<LoadManifestsOptions, "threads" | "cache"> {
  if (import.meta.url.endsWith(".ts")) return {};
  const script = new URL("../manifest/page-worker.cjs", import.meta.url);
  const threads = { script, count: Math.min(availableParallelism() - 1, maxThreads) };
  const folder = cacheFolder(env);
  if (folder === undefined) return { threads };
  const name = createHash("sha256").update(root).digest("hex").slice(0, 16);
  const version = lazily(() => rulesVersion(fileURLToPath(script)));
  const path = join(folder, "draftsync", `${name}.pages`);
  return {
    threads,
    cache: {
      path,
      // Only many manifests have a cache.
      get version() {
        return version();
      },
    },
  };
}

/**
 * What the cached pages depend on besides the manifests: the program's version, and a digest of the code that reads
 * manifests. Modification times say nothing: package managers set the same one for all files.
 */
function rulesVersion(script: string): string {
  const hash = createHash("sha256").update(readFileSync(script));
  const chunks = join(dirname(script), "../threads");
  for (const name of readdirSync(chunks).sort()) hash.update(readFileSync(join(chunks, name)));
  const { version } = packageSchema.parse(
    JSON.parse(readFileSync(join(dirname(script), "../../package.json"), "utf8")),
  );
  return `${version} ${hash.digest("base64url")}`;
}

const packageSchema = z.object({ version: z.string() });

/** https://specifications.freedesktop.org/basedir-spec/latest/ and its like. */
function cacheFolder({
  XDG_CACHE_HOME: xdg,
  HOME: home,
  LOCALAPPDATA: local,
}: NodeJS.ProcessEnv): string | undefined {
  const folder = xdg || (process.platform === "win32" ? local : home && join(home, ".cache"));
  return folder !== undefined && isAbsolute(folder) ? folder : undefined;
}
