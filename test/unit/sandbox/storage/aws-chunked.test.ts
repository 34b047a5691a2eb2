import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeAwsChunked } from "../../../../src/sandbox/storage/aws-chunked.ts";

/** A body in chunks, cut into pieces as a network would. */
async function* cut(body: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0;
  for (const size of sizes) {
    if (start >= body.length) return;
    yield body.subarray(start, start + size);
    start += size;
  }
  if (start < body.length) yield body.subarray(start);
}

function encode(chunks: readonly Uint8Array[], trailer: string): Buffer {
  const parts = chunks.flatMap((chunk) => [`${chunk.length.toString(16)}\r\n`, chunk, "\r\n"]);
  return Buffer.concat([...parts, "0\r\n", trailer, "\r\n"].map((part) => Buffer.from(part)));
}

async function decode(source: AsyncIterable<Buffer>) {
  const trailers: [string, string][] = [];
  const pieces: Buffer[] = [];
  for await (const piece of decodeAwsChunked(source, (name, value) => trailers.push([name, value]))) {
    pieces.push(piece);
  }
  return { bytes: Buffer.concat(pieces), trailers };
}

const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 });
const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 60 });

test("the bytes and the trailer come out, wherever the body is cut", async () => {
  await fc.assert(
    fc.asyncProperty(chunks, sizes, async (given, cuts) => {
      const body = encode(given, "X-Amz-Checksum-Crc32: NhCmhg==\r\n");
      expect(await decode(cut(body, cuts))).toEqual({
        bytes: Buffer.concat(given),
        trailers: [["x-amz-checksum-crc32", "NhCmhg=="]],
      });
    }),
  );
});

test("a body that ends early is told from a whole one, wherever it ends", async () => {
  await fc.assert(
    fc.asyncProperty(chunks, sizes, fc.nat(), async (given, cuts, at) => {
      const body = encode(given, "");
      const short = body.subarray(0, at % body.length);
      await expect(decode(cut(short, cuts))).rejects.toMatchObject({ code: "IncompleteBody" });
    }),
  );
});

test.each([
  ["no size", "hello\r\n"],
  ["a size that is none", "xyz\r\n"],
  ["a chunk longer than it says", "2\r\nhello\r\n0\r\n\r\n"],
  ["a trailer without a name", "0\r\n:value\r\n\r\n"],
  ["a line without an end", "a".repeat(10_000)],
])("%s", async (_, body) => {
  await expect(decode(cut(Buffer.from(body), []))).rejects.toMatchObject({ code: "InvalidRequest" });
});
