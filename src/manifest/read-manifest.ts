import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { Diagnostic } from "../model/diagnostic.ts";
import { fileHint, messageOf } from "../model/errors.ts";
import { below, describeVersion } from "./paths.ts";
import { SourceText } from "./source-text.ts";

/** A manifest may have this many bytes (16 MiB): a hundred thousand attachments fit. */
export const maxManifestBytes = 16 * 1024 * 1024;

/** The bytes of a file and its version ({@link describeVersion}), or why there are none. */
export type ManifestBytes =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly version: string }
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
    return { ok: true, bytes: readAll(descriptor, stats.size), version: describeVersion(stats) };
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

/** The first `size` bytes of an open file, fewer when it has become shorter. */
export function readAll(descriptor: number, size: number): Uint8Array {
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

/** The text of a file, or why it has none. */
type DecodedText =
  | { readonly ok: true; readonly source: SourceText }
  | { readonly ok: false; readonly diagnostic: Diagnostic };

const decoder = new TextDecoder();

/**
 * Decodes a file that must be UTF-8, with or without a byte order mark. YAML 1.2.2 §5.2 allows UTF-16 and UTF-32
 * as well; the JSON that becomes of a manifest does not, so another encoding is an error instead of a guess.
 */
export function decodeText(file: string, bytes: Uint8Array): DecodedText {
  const wide = wideEncoding(bytes);
  const source = new SourceText(file, decoder.decode(bytes));
  if (wide !== undefined) {
    const diagnostic = new SourceText(file, "").diagnose({
      code: "not-utf8",
      message: `The file is written in ${wide}, not in UTF-8`,
      hint: "Save it again as UTF-8.",
      span: [0, 0],
    });
    return { ok: false, diagnostic: { ...diagnostic, excerpt: [] } };
  }
  if (isUtf8(bytes)) return { ok: true, source };
  const bad = firstBadByte(source.text, bytes);
  return {
    ok: false,
    diagnostic: source.diagnose({
      code: "not-utf8",
      message: `Byte ${bad.byteOffset} of the file (0x${bad.byte}) is not valid UTF-8`,
      hint: "Save the file as UTF-8; it may be in Latin-1 or Windows-1252.",
      span: [bad.offset, bad.offset + 1],
    }),
  };
}

/** UTF-16 and UTF-32 start with a mark, or have a zero byte in their first character, which is ASCII in a manifest. */
function wideEncoding(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const marked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const zero = first === 0 || (first !== undefined && first < 0x80 && second === 0);
  return bytes.length > 1 && (marked || zero) ? "UTF-16 or UTF-32" : undefined;
}

/** Where decoding had to write U+FFFD for something that is not an encoded U+FFFD. `byteOffset` counts from 0. */
function firstBadByte(decoded: string, bytes: Uint8Array) {
  let byteOffset = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  let done = 0;
  let offset = decoded.indexOf("\ufffd");
  while (offset >= 0) {
    byteOffset += Buffer.byteLength(decoded.slice(done, offset));
    const genuine =
      bytes[byteOffset] === 0xef && bytes[byteOffset + 1] === 0xbf && bytes[byteOffset + 2] === 0xbd;
    if (!genuine) break;
    done = offset;
    offset = decoded.indexOf("\ufffd", offset + 1);
  }
  return { offset: Math.max(offset, 0), byteOffset, byte: (bytes[byteOffset] ?? 0).toString(16) };
}
