import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { SourceContent } from "../model/desired.ts";
import { DraftsyncError } from "../model/errors.ts";

const largestRead = 1024 * 1024;

/**
 * SHA-256 and size of a regular file, read in pieces of at most 1 MiB. The path must have no links left in it. It is
 * opened without waiting, so that a pipe which took the file's place cannot hold the process.
 *
 * Throws the system's error, or a {@link DraftsyncError} `source-changed` when the file is another or a changed one
 * at the end of reading.
 */
export async function hashFile(path: string): Promise<SourceContent> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const before = await handle.stat();
    if (!before.isFile()) throw changed(path);
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(Math.min(largestRead, before.size + 1));
    let size = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
      size += bytesRead;
    }
    const after = await handle.stat();
    if (size !== before.size || after.size !== size || after.mtimeMs !== before.mtimeMs) throw changed(path);
    return { sha256: hash.digest("hex"), size };
  } finally {
    await handle.close();
  }
}

function changed(path: string): DraftsyncError {
  return new DraftsyncError(`${path} changed while it was read`, {
    code: "source-changed",
    hint: "Run again when nothing writes to it.",
  });
}
