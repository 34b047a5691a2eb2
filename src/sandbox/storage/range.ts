/** The first and the last byte of a range, both included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Reads a `Range` header for content of a size. `undefined`: the header is ignored, as RFC 9110 §14.2 allows; this server
 * ignores several ranges in one header, too. `unsatisfiable`: no byte of the content is in the range.
 */
export function readRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/i.exec(header.trim()) ?? [];
  if (from === "" && to === "") return undefined;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return undefined;
  const first = from === "" ? Math.max(size - Number(to), 0) : Number(from);
  const last = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  return first < size ? { first, last } : "unsatisfiable";
}

/** The bytes of a range out of all bytes. */
export async function* bytesWithin(
  source: AsyncIterable<Uint8Array>,
  { first, last }: ByteRange,
): AsyncGenerator<Uint8Array> {
  let start = 0;
  for await (const chunk of source) {
    const part = chunk.subarray(Math.max(first - start, 0), Math.max(last + 1 - start, 0));
    if (part.length > 0) yield part;
    start += chunk.length;
    if (start > last) return;
  }
}
