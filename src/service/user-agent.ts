import { readFileSync } from "node:fs";
import { z } from "zod";

const packageSchema = z.object({ version: z.string() });

/** `draftsync/VERSION` (RFC 9110 §10.1.5), the version being that of the package. */
export function userAgent(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return `draftsync/${packageSchema.parse(JSON.parse(text)).version}`;
}
