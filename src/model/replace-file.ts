import { randomUUID } from "node:crypto";
import { chmod, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { systemCodeOf } from "./errors.ts";

/** The content of a file, if it exists. Throws what the file system throws for all else. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch(ignoreMissing);
}

/** The text of a regular file; empty when there is none that can be read. Reading a pipe would block. */
export async function readFormer(path: string): Promise<string> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, "utf8") : "";
  } catch {
    return "";
  }
}

function ignoreMissing(error: unknown): undefined {
  if (systemCodeOf(error) === "ENOENT") return undefined;
  throw error;
}

/**
 * Writes a file, whole or not at all: a process that is killed leaves the former content. A link stays, and its file is
 * replaced. `mode`: absent, that of the former file. Throws what the file system throws, and for what is no regular file.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const former = await stat(path).catch(ignoreMissing);
  // To rename over a device would replace it, and a pipe would block.
  if (former?.isFile() === false) throw new Error(`${path} is not a regular file`);
  const file = former === undefined ? path : await realpath(path);
  // No pattern of manifests, and no collector of metrics, takes this name for its own.
  const temporary = `${file}.${randomUUID()}.tmp`;
  const wanted = mode ?? former?.mode;
  try {
    await writeFile(temporary, content);
    if (wanted !== undefined) await chmod(temporary, wanted & 0o777);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}
