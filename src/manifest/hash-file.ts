import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, read, readSync } from "node:fs";
import { promisify } from "node:util";
import type { SourceContent } from "../model/desired.ts";
import { DraftsyncError } from "../model/errors.ts";

const largestRead = 1024 * 1024;

const readLater = promisify(read);

/**
 * SHA-256 and size of a regular file, read in pieces of at most 1 MiB. The path must have no links left in it. It is
 * opened without waiting, so that a pipe which took the file's place cannot hold the process. What fits into one piece is
 * read at once, as manifests are: of many small files, promises would take most of the time.
 *
 * Throws the system's error, the signal's reason when that is aborted, or a {@link DraftsyncError} `source-changed` when
 * the file is another or a changed one at the end of reading.
 */
export async function hashFile(path: string, signal?: AbortSignal): Promise<SourceContent> {
  const descriptor = openRegular(path);
  try {
    const before = fstatSync(descriptor);
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(Math.min(largestRead, before.size + 1));
    let size = 0;
    for (;;) {
      signal?.throwIfAborted();
      const bytesRead =
        before.size < largestRead
          ? readSync(descriptor, buffer, 0, buffer.length, null)
          : (await readLater(descriptor, buffer, 0, buffer.length, null)).bytesRead;
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
      size += bytesRead;
    }
    const after = fstatSync(descriptor);
    if (size !== before.size || after.size !== size || after.mtimeMs !== before.mtimeMs)
      throw changedWhileRead(path);
    return { sha256: hash.digest("hex"), size };
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a regular file whose path has no links left in it. Throws as {@link hashFile} does; it never waits for a pipe. */
export function openRegular(path: string): number {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw changedWhileRead(path);
}

function changedWhileRead(path: string): DraftsyncError {
  return new DraftsyncError(`${path} changed while it was read`, {
    code: "source-changed",
    hint: "Run again when nothing writes to it.",
  });
}
