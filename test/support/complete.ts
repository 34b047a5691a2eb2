import type { LoadedManifests } from "../../src/manifest/load-manifests.ts";

/** The loaded manifests. Throws when they have errors. */
export function complete(loaded: LoadedManifests): Extract<LoadedManifests, { readonly ok: true }> {
  if (loaded.ok) return loaded;
  const lines = loaded.diagnostics.map(({ place, code, message }) => `${place?.line} ${code} ${message}`);
  throw new Error(`the manifests have errors:\n${lines.join("\n")}`);
}
