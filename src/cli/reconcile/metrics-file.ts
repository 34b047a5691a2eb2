import { chmod, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { messageOf, systemCodeOf } from "../../model/errors.ts";

/** What an earlier process left in a metrics file; empty when there is none that can be read. */
export async function readMetricsFile(path: string): Promise<string> {
  try {
    return await readFile(await findRegular(path), "utf8");
  } catch {
    return "";
  }
}

/**
 * Writes a file for a textfile collector: whole or not at all, and for every user to read, since the collector is another
 * one. Returns what went wrong, if anything did.
 */
export async function writeMetricsFile(path: string, text: string): Promise<string | undefined> {
  let temporary: string | undefined;
  try {
    const file = await findRegular(path);
    // Collectors read what ends with .prom, so this one they pass over.
    temporary = `${file}.${process.pid}.tmp`;
    await writeFile(temporary, text);
    await chmod(temporary, 0o644);
    await rename(temporary, file);
    return undefined;
  } catch (error) {
    if (temporary !== undefined) await rm(temporary, { force: true }).catch(() => {});
    return `the metrics file cannot be written: ${messageOf(error)}`;
  }
}

/** The regular file that a path leads to, or may: to rename over a device would replace it, and a pipe would block. */
async function findRegular(path: string): Promise<string> {
  const found = await stat(path).catch((error: unknown) => {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return path;
  if (!found.isFile()) throw new Error(`${path} is not a regular file`);
  return await realpath(path);
}
