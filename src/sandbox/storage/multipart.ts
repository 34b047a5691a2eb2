import { createHash, randomUUID } from "node:crypto";
import { XMLParser } from "fast-xml-parser";
import { z } from "zod";
import type { RequestContext, SandboxContext } from "../env.ts";
import { chunksOf } from "../requests.ts";
import type { OpenMultipart, StoredPart } from "../store.ts";
import { receiveBytes } from "./objects.ts";
import { BUCKET, respondWithXml, StorageError } from "./responses.ts";

/** Every part but the last has at least this many bytes (Amazon S3 User Guide, "Multipart upload limits"). */
const MIN_PART_BYTES = 5 * 1024 ** 2;
const MAX_PART_NUMBER = 10_000;
/** Room for 10,000 parts with their checksums. */
const MAX_COMPLETE_BYTES = 4 * 1024 ** 2;
const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";

interface UploadPlace {
  readonly key: string;
  readonly uploadId: string;
}

/** CreateMultipartUpload. */
export function createMultipart(c: RequestContext, sandbox: SandboxContext, key: string): Response {
  const uploadId = randomUUID();
  const contentType = c.env.incoming.headers["content-type"] ?? "application/octet-stream";
  sandbox.store.objects.openMultipart({ uploadId, key, contentType });
  return respondWithXml({
    InitiateMultipartUploadResult: { "@_xmlns": NAMESPACE, Bucket: BUCKET, Key: key, UploadId: uploadId },
  });
}

/** UploadPart: replaces an earlier part with the same number. */
export async function uploadPart(
  c: RequestContext,
  sandbox: SandboxContext,
  part: UploadPlace & { readonly partNumber: string },
): Promise<Response> {
  const number = Number(part.partNumber);
  if (!/^[1-9]\d*$/.test(part.partNumber) || number > MAX_PART_NUMBER) {
    throw new StorageError("InvalidArgument", `The part number must be from 1 to ${MAX_PART_NUMBER}.`);
  }
  findUpload(sandbox, part);
  const { blob, etag, size } = await receiveBytes(c, sandbox);
  const unused = sandbox.store.objects.putPart(part.uploadId, { number, etag, size, blob });
  await sandbox.blobs.remove(unused ?? [blob]);
  if (unused === undefined) throw noSuchUpload();
  return new Response(null, { status: 200, headers: { etag: `"${etag}"` } });
}

/** CompleteMultipartUpload: the object consists of the blobs of the named parts. */
export async function completeMultipart(
  c: RequestContext,
  sandbox: SandboxContext,
  upload: UploadPlace,
): Promise<Response> {
  const { contentType } = findUpload(sandbox, upload);
  const parts = chooseParts(await readNamedParts(c), sandbox.store.objects.parts(upload.uploadId));
  const etag = multipartEtag(parts);
  const unused = sandbox.store.objects.complete(upload.uploadId, {
    key: upload.key,
    etag,
    size: parts.reduce((sum, part) => sum + part.size, 0),
    contentType,
    modifiedAt: Math.trunc(sandbox.settings.now()),
    blobs: parts.map((part) => part.blob),
  });
  if (unused === undefined) throw noSuchUpload();
  await sandbox.blobs.remove(unused);
  return respondWithXml({
    CompleteMultipartUploadResult: {
      "@_xmlns": NAMESPACE,
      Location: `http://${c.env.incoming.headers.host}/${BUCKET}/${encodeURI(upload.key)}`,
      Bucket: BUCKET,
      Key: upload.key,
      ETag: `"${etag}"`,
    },
  });
}

/** AbortMultipartUpload. */
export async function abortMultipart(sandbox: SandboxContext, upload: UploadPlace): Promise<Response> {
  findUpload(sandbox, upload);
  await sandbox.blobs.remove(sandbox.store.objects.abort(upload.uploadId));
  return new Response(null, { status: 204 });
}

function findUpload(sandbox: SandboxContext, upload: UploadPlace): OpenMultipart {
  const found = sandbox.store.objects.findMultipart(upload.uploadId);
  if (found === undefined || found.key !== upload.key) throw noSuchUpload();
  return found;
}

function noSuchUpload(): StorageError {
  return new StorageError(
    "NoSuchUpload",
    "There is no such multipart upload; it may be completed or aborted.",
  );
}

/** With `htmlEntities` the library decodes numeric character references: Go's SDK writes quotes as `&#34;`. */
const parser = new XMLParser({
  parseTagValue: false,
  htmlEntities: true,
  isArray: (name) => name === "Part",
});

const NamedPart = z.object({
  PartNumber: z
    .string()
    .regex(/^[1-9]\d{0,4}$/)
    .transform(Number),
  ETag: z.string().transform((etag) => etag.replace(/^"|"$/g, "")),
});
const CompleteSchema = z.object({
  CompleteMultipartUpload: z.object({ Part: z.array(NamedPart).min(1) }),
});

async function readNamedParts(c: RequestContext): Promise<readonly z.output<typeof NamedPart>[]> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(c.env.incoming)) {
    size += chunk.length;
    if (size > MAX_COMPLETE_BYTES) throw new StorageError("MalformedXML", "The body is too long.");
    chunks.push(chunk);
  }
  try {
    const document: unknown = parser.parse(Buffer.concat(chunks).toString("utf8"), true);
    return CompleteSchema.parse(document).CompleteMultipartUpload.Part;
  } catch {
    throw new StorageError("MalformedXML", "The body is not a CompleteMultipartUpload document.");
  }
}

function chooseParts(
  named: readonly z.output<typeof NamedPart>[],
  stored: readonly StoredPart[],
): StoredPart[] {
  if (named.some((name, index) => name.PartNumber <= (named[index - 1]?.PartNumber ?? 0))) {
    throw new StorageError("InvalidPartOrder", "The parts are not in ascending order.");
  }
  const byNumber = new Map(stored.map((part) => [part.number, part]));
  return named.map(({ PartNumber: number, ETag: etag }, index) => {
    const part = byNumber.get(number);
    if (part === undefined || part.etag !== etag) {
      throw new StorageError("InvalidPart", `Part ${number} was not uploaded with that ETag.`);
    }
    if (part.size < MIN_PART_BYTES && index < named.length - 1) {
      throw new StorageError("EntityTooSmall", `Part ${number} has less than ${MIN_PART_BYTES} bytes.`);
    }
    return part;
  });
}

/** The MD5 of the parts' MD5s, and the number of parts. */
function multipartEtag(parts: readonly StoredPart[]): string {
  const hash = createHash("md5");
  for (const part of parts) hash.update(part.etag, "hex");
  return `${hash.digest("hex")}-${parts.length}`;
}
