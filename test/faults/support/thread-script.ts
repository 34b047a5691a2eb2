import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { freshFolder } from "../../unit/ledger/samples.ts";

/** A script that a thread may be started with in place of the compiled one. */
export function scriptOf(text: string): URL {
  const path = join(freshFolder(), "worker.mjs");
  writeFileSync(path, text);
  return pathToFileURL(path);
}
