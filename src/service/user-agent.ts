import { createRequire } from "node:module";
import { z } from "zod";

const packageSchema = z.object({ version: z.string() });

/** `draftsync/VERSION` (RFC 9110 §10.1.5). */
export function userAgent(): string {
  return `draftsync/${packageVersion()}`;
}

/** The version of the package. */
export function packageVersion(): string {
  // By its own name, which holds however deep the build puts this module.
  return packageSchema.parse(createRequire(import.meta.url)("draftsync/package.json")).version;
}
