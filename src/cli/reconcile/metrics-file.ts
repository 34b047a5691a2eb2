import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { messageOf } from "../../model/errors.ts";

/** What an earlier process left in a metrics file; empty when there is none that can be read. */
export async function readMetricsFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * Writes a file for a textfile collector: whole or not at all, and for every user to read, since the collector is another
 * one. Returns what went wrong, if anything did.
 */
export async function writeMetricsFile(path: string, text: string): Promise<string | undefined> {
  // Collectors read what ends with .prom, so this one they pass over.
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, text);
    await chmod(temporary, 0o644);
    await rename(temporary, path);
    return undefined;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    return `the metrics file cannot be written: ${messageOf(error)}`;
  }
}
