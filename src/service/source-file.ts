import { createHash } from "node:crypto";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { DraftsyncError, fileHint, messageOf, systemCodeOf } from "../model/errors.ts";
import type { StoredSource } from "../model/ports.ts";

/** Why a local file cannot be stored. */
export type SourceErrorCode =
  | "source-missing"
  | "source-unreadable"
  | "source-outside-workspace"
  | "source-not-a-file"
  | "source-changed";

/** A local file that is not there, not allowed, or not the one that was planned. */
export class SourceError extends DraftsyncError {
  override readonly name = "SourceError";

  constructor(code: SourceErrorCode, message: string, hint: string, cause?: unknown) {
    super(message, { code, hint, ...(cause === undefined ? {} : { cause }) });
  }
}

/** A file that was opened once; what is read from it is what the descriptor shows. */
export interface OpenSource {
  /** The whole content, once it has proven to be the planned one. */
  readAll(): Promise<Buffer>;
  /** The content in chunks. The last one comes only after the whole has proven to be the planned one. */
  readChunks(): AsyncGenerator<Buffer, void, undefined>;
  close(): Promise<void>;
}

const chunkSize = 1024 * 1024;

/**
 * Opens a file of the workspace: a regular file, inside `root` by its real path, no link at its end by the time it is
 * opened, and never one whose opening blocks (a FIFO). Throws {@link SourceError}.
 */
export async function openSource(root: string, file: StoredSource): Promise<OpenSource> {
  const path = await resolveInside(root, file.source);
  const handle = await openWithoutBlocking(path, file.source);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) {
      throw new SourceError(
        "source-not-a-file",
        `${file.source}: the file is not a regular file`,
        "Name a regular file.",
      );
    }
    if (stat.size !== file.size) throw changed(file);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    async readAll() {
      const chunks: Buffer[] = [];
      for await (const chunk of readVerified(handle, file)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    readChunks: () => readVerified(handle, file),
    close: () => handle.close(),
  };
}

async function resolveInside(root: string, source: string): Promise<string> {
  const realRoot = await realpath(root).catch((error: unknown) => fail(source, error));
  const path = await realpath(resolve(realRoot, source)).catch((error: unknown) => fail(source, error));
  const inside = relative(realRoot, path);
  if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    throw new SourceError(
      "source-outside-workspace",
      `${source}: the file is outside the workspace`,
      "Move the file into the workspace; links that lead out of it are not followed.",
    );
  }
  return path;
}

async function openWithoutBlocking(path: string, source: string): Promise<FileHandle> {
  // Windows has neither flag, and no FIFO in a folder.
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  return await open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).catch((error: unknown) => fail(source, error));
}

/** Reads at most one byte more than planned, holding each chunk back until the next one shows it is not the last. */
async function* readVerified(
  handle: FileHandle,
  file: StoredSource,
): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash("sha256");
  let held: Buffer | undefined;
  let size = 0;
  for (;;) {
    const buffer = Buffer.allocUnsafe(chunkSize);
    const { bytesRead } = await handle
      .read(buffer, 0, chunkSize, size)
      .catch((error: unknown) => fail(file.source, error));
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    size += bytesRead;
    if (size > file.size) throw changed(file);
    if (held !== undefined) yield held;
    held = chunk;
  }
  if (size !== file.size || hash.digest("hex") !== file.sha256) throw changed(file);
  if (held !== undefined) yield held;
}

function changed(file: StoredSource): SourceError {
  return new SourceError(
    "source-changed",
    `${file.source}: the content of the file has changed since it was planned`,
    "Run plan again.",
  );
}

function fail(source: string, error: unknown): never {
  const code = systemCodeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR") {
    throw new SourceError(
      "source-missing",
      `${source}: the file does not exist`,
      "Check the path in the manifest.",
      error,
    );
  }
  const message = `${source}: the file cannot be read: ${messageOf(error)}`;
  throw new SourceError(
    "source-unreadable",
    message,
    fileHint(error, "Check the file and its permissions."),
    error,
  );
}
