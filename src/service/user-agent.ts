import { readFileSync } from "node:fs";
import { z } from "zod";

const packageSchema = z.object({ version: z.string() });

/** `draftsync/VERSION` (RFC 9110 §10.1.5). */
export function userAgent(): string {
  return `draftsync/${packageVersion()}`;
}

/** The version of the package. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return packageSchema.parse(JSON.parse(text)).version;
}
