import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { crc32 } from "node:zlib";
import { decodeAwsChunked } from "./aws-chunked.ts";
import { StorageError } from "./storage-error.ts";

/** What was found out about a payload while it passed. Complete once its bytes were read to the end. */
export interface PayloadDigest {
  size: number;
  /** MD5, 16 bytes. */
  md5: Buffer;
  /** The `x-amz-checksum-…` header that was checked, for the answer. */
  checksum: Readonly<Record<string, string>>;
}

const STREAMING = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
/** The largest object or part of one request (Amazon S3 User Guide, "Uploading objects"). */
const MAX_BYTES = 5 * 1024 ** 3;

interface Checksum {
  update(chunk: Uint8Array): void;
  base64(): string;
}

const CHECKSUMS: Readonly<Record<string, () => Checksum>> = {
  "x-amz-checksum-crc32": makeCrc32,
  "x-amz-checksum-sha1": () => makeHash("sha1"),
  "x-amz-checksum-sha256": () => makeHash("sha256"),
};

/**
 * Passes the payload of a storage request on, decoded, and checks all that the request says of it: its length, its
 * SHA-256 (`x-amz-content-sha256`), its `Content-MD5` and its `x-amz-checksum-…`, as a header or a trailer. A payload that fails ends in
 * an error instead of its end.
 *
 * @throws StorageError in S3's terms; while the bytes are read, too.
 */
export function openPayload(headers: IncomingHttpHeaders, source: AsyncIterable<Buffer>) {
  const hash = String(headers["x-amz-content-sha256"] ?? "");
  const streaming = hash === STREAMING;
  if (!streaming && hash !== "UNSIGNED-PAYLOAD" && !/^[0-9a-f]{64}$/.test(hash)) {
    throw hash.startsWith("STREAMING-")
      ? new StorageError("NotImplemented", `This storage takes no ${hash}; it takes ${STREAMING}.`)
      : new StorageError("InvalidRequest", "The header x-amz-content-sha256 is missing or malformed.");
  }
  const announced = headers[streaming ? "x-amz-decoded-content-length" : "content-length"];
  if (announced === undefined)
    throw new StorageError("MissingContentLength", "The length of the content is missing.");
  if (Number(announced) > MAX_BYTES)
    throw new StorageError("EntityTooLarge", `At most ${MAX_BYTES} bytes at once.`);

  const trailers = new Map<string, string>();
  const digest: PayloadDigest = { size: 0, md5: Buffer.alloc(0), checksum: {} };
  const content = streaming ? decodeAwsChunked(source, (name, value) => trailers.set(name, value)) : source;
  const checksums = announcedChecksums(headers).map((name) => ({ name, running: makeChecksum(name) }));

  async function* bytes(): AsyncGenerator<Buffer> {
    const md5 = createHash("md5");
    const sha256 = createHash("sha256");
    for await (const chunk of content) {
      digest.size += chunk.length;
      if (digest.size > Number(announced))
        throw new StorageError("IncompleteBody", "The body is longer than it says.");
      md5.update(chunk);
      if (!streaming) sha256.update(chunk);
      for (const { running } of checksums) running.update(chunk);
      yield chunk;
    }
    digest.md5 = md5.digest();
    if (digest.size !== Number(announced))
      throw new StorageError("IncompleteBody", "The body is shorter than it says.");
    if (!streaming && hash !== "UNSIGNED-PAYLOAD" && sha256.digest("hex") !== hash) {
      throw new StorageError("XAmzContentSHA256Mismatch", "The body is not the one that was signed.");
    }
    checkEqual("content-md5", headers["content-md5"], digest.md5.toString("base64"));
    for (const { name, running } of checksums) {
      const found = running.base64();
      checkEqual(name, headers[name] ?? trailers.get(name) ?? "", found);
      digest.checksum = { ...digest.checksum, [name]: found };
    }
  }
  return { bytes: bytes(), digest };
}

/** The checksums a request promises, in its headers or in the trailer it names. */
function announcedChecksums(headers: IncomingHttpHeaders): string[] {
  const inHeaders = Object.keys(headers).filter((name) => /^x-amz-checksum-(crc|sha)/.test(name));
  const inTrailer = String(headers["x-amz-trailer"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
  return [...new Set([...inHeaders, ...inTrailer])];
}

function makeChecksum(name: string): Checksum {
  const make = CHECKSUMS[name];
  if (make !== undefined) return make();
  throw new StorageError(
    "NotImplemented",
    `This storage cannot check ${name}; it can check CRC32, SHA1 and SHA256.`,
  );
}

function makeCrc32(): Checksum {
  let value = 0;
  return {
    update(chunk) {
      value = crc32(chunk, value);
    },
    base64() {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes.toString("base64");
    },
  };
}

function makeHash(algorithm: string): Checksum {
  const hash = createHash(algorithm);
  return { update: (chunk) => void hash.update(chunk), base64: () => hash.digest("base64") };
}

function checkEqual(name: string, promised: string | string[] | undefined, found: string): void {
  if (promised === undefined || promised === found) return;
  throw new StorageError("BadDigest", `The ${name} of the body is ${found}, not the one promised.`);
}
