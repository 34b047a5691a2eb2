import { createHash } from "node:crypto";
import type { RequestContext, SandboxContext } from "../env.ts";
import { chunksOf } from "../requests.ts";
import type { StoredObject } from "../store.ts";
import { StorageError } from "./responses.ts";

/** PutObject: stores the bytes, then replaces the object in one step. */
export async function putObject(c: RequestContext, sandbox: SandboxContext, key: string): Promise<Response> {
  const { headers } = c.env.incoming;
  if (headers["x-amz-copy-source"] !== undefined) {
    throw new StorageError("NotImplemented", "This storage does not copy objects.");
  }
  const { blob, etag, size } = await receiveBytes(c, sandbox);
  const unused = sandbox.store.objects.put({
    key,
    etag,
    size,
    contentType: headers["content-type"] ?? "application/octet-stream",
    modifiedAt: Math.trunc(sandbox.settings.now()),
    blobs: [blob],
  });
  await sandbox.blobs.remove(unused);
  return new Response(null, { status: 200, headers: { etag: `"${etag}"` } });
}

/** Stores the body of a request as a blob; the ETag is its MD5. */
export async function receiveBytes(c: RequestContext, { blobs }: SandboxContext) {
  const { incoming } = c.env;
  refuseChunks(incoming.headers);
  const md5 = createHash("md5");
  let size = 0;
  const blob = await blobs.write(
    (async function* () {
      for await (const chunk of chunksOf(incoming)) {
        md5.update(chunk);
        size += chunk.length;
        yield chunk;
      }
    })(),
  );
  return { blob, etag: md5.digest("hex"), size };
}

/** Without decoding, the frames of `aws-chunked` would become part of the object. */
function refuseChunks(headers: RequestContext["env"]["incoming"]["headers"]): void {
  const hash = String(headers["x-amz-content-sha256"] ?? "");
  if (!hash.startsWith("STREAMING-") && !/\baws-chunked\b/i.test(headers["content-encoding"] ?? "")) return;
  throw new StorageError(
    "NotImplemented",
    "This storage does not decode aws-chunked; send the body as it is (AWS SDK for JavaScript: requestChecksumCalculation WHEN_REQUIRED).",
  );
}

/** GetObject and HeadObject, with one range of bytes (RFC 9110 §14). */
export function getObject(c: RequestContext, sandbox: SandboxContext, key: string): Response {
  const object = sandbox.store.objects.find(key);
  if (object === undefined) throw new StorageError("NoSuchKey", "There is no object of that key.");
  const { headers: given, method } = c.env.incoming;
  const etag = `"${object.etag}"`;
  const isCurrent = given["if-range"] === undefined || given["if-range"] === etag;
  const range = isCurrent ? readRange(given.range ?? "", object.size) : undefined;
  if (range === "unsatisfiable") {
    throw new StorageError("InvalidRange", `The object has ${object.size} bytes.`, {
      "content-range": `bytes */${object.size}`,
    });
  }
  const { first, last } = range ?? { first: 0, last: object.size - 1 };
  const headers = {
    "accept-ranges": "bytes",
    "content-type": object.contentType,
    "content-length": String(last - first + 1),
    etag,
    "last-modified": new Date(object.modifiedAt).toUTCString(),
    ...(range === undefined ? {} : { "content-range": `bytes ${first}-${last}/${object.size}` }),
  };
  const status = range === undefined ? 200 : 206;
  if (method === "HEAD") return new Response(null, { status, headers });
  return new Response(ReadableStream.from(readBytes(sandbox, object, { first, last })), { status, headers });
}

/** The first and the last byte of a range, both included. */
interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Reads a `Range` header for content of a size. `undefined`: the header is ignored, as RFC 9110 §14.2 allows; this server
 * ignores several ranges in one header, too. `unsatisfiable`: no byte of the content is in the range.
 */
function readRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/i.exec(header.trim()) ?? [];
  if (from === "" && to === "") return undefined;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return undefined;
  const first = from === "" ? Math.max(size - Number(to), 0) : Number(from);
  const last = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  return first < size ? { first, last } : "unsatisfiable";
}

/** The bytes of a range of an object. */
async function* readBytes(
  sandbox: SandboxContext,
  object: StoredObject,
  { first, last }: ByteRange,
): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const blob of object.blobs) {
    for await (const chunk of sandbox.blobs.read(blob)) {
      const part = chunk.subarray(Math.max(first - start, 0), Math.max(last + 1 - start, 0));
      if (part.length > 0) yield part;
      start += chunk.length;
      if (start > last) return;
    }
  }
}
