import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { Diagnostic } from "../model/diagnostic.ts";
import { fileHint, messageOf } from "../model/errors.ts";
import { below } from "./paths.ts";

/** A manifest may have this many bytes (16 MiB): a hundred thousand attachments fit. */
export const maxManifestBytes = 16 * 1024 * 1024;

/** The bytes of a file, or why there are none. */
export type ManifestBytes =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly diagnostic: Diagnostic };

/**
 * Reads a manifest, at most {@link maxManifestBytes}. It never waits for a pipe. Synchronous, as it is followed by
 * parsing: ten thousand small files cost a tenth of the same in promises.
 */
export function readManifest(root: string, file: string): ManifestBytes {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(below(root, file), constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    if (!stats.isFile())
      return refused(file, "manifest-unreadable", "is not a regular file", "Remove it or rename it.");
    if (stats.size > maxManifestBytes) {
      const size = (stats.size / 1024 / 1024).toFixed(1);
      return refused(
        file,
        "manifest-too-large",
        `has ${size} MiB; 16 MiB is the limit`,
        "Split it into several files.",
      );
    }
    return { ok: true, bytes: readAll(descriptor, stats.size) };
  } catch (error) {
    return refused(
      file,
      "manifest-unreadable",
      `cannot be read: ${messageOf(error)}`,
      fileHint(error, "Check its permissions."),
    );
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function readAll(descriptor: number, size: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const read = readSync(descriptor, bytes, length, size - length, null);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}

function refused(file: string, code: string, message: string, hint: string): ManifestBytes {
  const place = { file, line: 1, column: 1 };
  return { ok: false, diagnostic: { severity: "error", code, message: `The file ${message}`, hint, place } };
}
