import { isUtf8 } from "node:buffer";
import type { Diagnostic } from "../model/diagnostic.ts";
import { SourceText } from "./source-text.ts";

/** The text of a file, or why it has none. */
export type DecodedText =
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
