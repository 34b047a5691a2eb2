import { StorageError } from "./storage-error.ts";

/** Longer than any chunk header or trailer line there is reason for. */
const MAX_LINE = 8192;

/**
 * Decodes `Content-Encoding: aws-chunked` without chunk signatures (Amazon S3 API Reference, "Signature calculations …
 * with trailing headers"):
 *
 *     <size in hex>\r\n<bytes>\r\n … 0\r\n<trailer>:<value>\r\n … \r\n
 *
 * Yields the bytes; `onTrailer` gets each trailer line, its name in lower case.
 *
 * @throws StorageError `IncompleteBody` when it ends early, `InvalidRequest` when it is no such body.
 */
export async function* decodeAwsChunked(
  source: AsyncIterable<Buffer>,
  onTrailer: (name: string, value: string) => void,
): AsyncGenerator<Buffer> {
  const reader = makeReader(source);
  for (;;) {
    const head = await reader.readLine();
    const digits = /^([0-9a-f]{1,8})(;.*)?$/i.exec(head)?.[1];
    if (digits === undefined) throw new StorageError("InvalidRequest", "The body is not in chunks.");
    const size = Number.parseInt(digits, 16);
    if (size === 0) break;
    yield* reader.readBytes(size);
    if ((await reader.readLine()) !== "")
      throw new StorageError("InvalidRequest", "A chunk is longer than it says.");
  }
  for (let line = await reader.readLine(); line !== ""; line = await reader.readLine()) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new StorageError("InvalidRequest", "A trailer has no name.");
    onTrailer(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  await reader.readToEnd();
}

function makeReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);
  const next = async () => {
    const { value, done } = await chunks.next();
    if (done === true) throw new StorageError("IncompleteBody", "The body ended inside a chunk.");
    return value;
  };
  return {
    async readLine(): Promise<string> {
      let end = buffered.indexOf("\r\n");
      while (end < 0) {
        if (buffered.length > MAX_LINE)
          throw new StorageError("InvalidRequest", "A line of the body has no end.");
        buffered = Buffer.concat([buffered, await next()]);
        end = buffered.indexOf("\r\n");
      }
      const line = buffered.toString("latin1", 0, end);
      buffered = buffered.subarray(end + 2);
      return line;
    },
    async *readBytes(size: number): AsyncGenerator<Buffer> {
      let left = size;
      while (left > 0) {
        if (buffered.length === 0) buffered = await next();
        const piece = buffered.subarray(0, left);
        buffered = buffered.subarray(piece.length);
        left -= piece.length;
        yield piece;
      }
    },
    async readToEnd(): Promise<void> {
      while ((await chunks.next()).done !== true);
    },
  };
}
