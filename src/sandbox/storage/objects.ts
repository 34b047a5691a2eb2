import type { RequestContext, World } from "../env.ts";
import { chunksOf } from "../request-body.ts";
import { openPayload } from "./payload.ts";
import { StorageError } from "./storage-error.ts";

/** PutObject: keeps the bytes, then replaces the object in one step. */
export async function putObject(c: RequestContext, world: World, key: string): Promise<Response> {
  const { headers } = c.env.incoming;
  if (headers["x-amz-copy-source"] !== undefined) {
    throw new StorageError("NotImplemented", "This storage does not copy objects.");
  }
  const { bytes, digest } = openPayload(headers, chunksOf(c.env.incoming));
  const blob = await world.blobs.write(bytes);
  const etag = digest.md5.toString("hex");
  const unused = world.store.objects.put({
    key,
    etag,
    size: digest.size,
    contentType: headers["content-type"] ?? "application/octet-stream",
    modifiedAt: Math.trunc(world.settings.now()),
    blobs: [blob],
  });
  await world.blobs.remove(unused);
  return new Response(null, { status: 200, headers: { etag: `"${etag}"`, ...digest.checksum } });
}

/** GetObject and HeadObject: the whole object; `Range` is not taken (RFC 9110 §14.2 lets a server ignore it). */
export function getObject(c: RequestContext, world: World, key: string): Response {
  const object = world.store.objects.find(key);
  if (object === undefined) throw new StorageError("NoSuchKey", "There is no object of that key.");
  const headers = {
    "content-type": object.contentType,
    "content-length": String(object.size),
    etag: `"${object.etag}"`,
    "last-modified": new Date(object.modifiedAt).toUTCString(),
  };
  if (c.env.incoming.method === "HEAD") return new Response(null, { headers });
  return new Response(ReadableStream.from(allBytes(world, object.blobs)), { headers });
}

async function* allBytes(world: World, blobs: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const blob of blobs) yield* world.blobs.read(blob);
}
