import type { LoadedManifests } from "../../src/manifest/load-manifests.ts";

/** What was loaded of manifests that must have no errors. */
export function complete(loaded: LoadedManifests): Extract<LoadedManifests, { readonly ok: true }> {
  if (loaded.ok) return loaded;
  const lines = loaded.diagnostics.map(({ place, code, message }) => `${place?.line} ${code} ${message}`);
  throw new Error(`the manifests have errors:\n${lines.join("\n")}`);
}
