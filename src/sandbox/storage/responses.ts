import { randomUUID } from "node:crypto";
import { XMLBuilder } from "fast-xml-parser";

/** The only bucket: the first segment of every storage path. */
export const BUCKET = "draftsync-sandbox";

const STATUS = {
  AccessDenied: 403,
  EntityTooSmall: 400,
  ExpiredToken: 400,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InternalError: 500,
  MalformedXML: 400,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  SlowDown: 503,
} as const;

/** A storage request that is refused, with a code of S3 (Amazon S3 API Reference, "Error responses"). */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: keyof typeof STATUS;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: keyof typeof STATUS, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

const builder = new XMLBuilder({ ignoreAttributes: false, suppressEmptyNode: true });

/** A response with an XML document. */
export function respondWithXml(
  document: object,
  { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): Response {
  return new Response(`<?xml version="1.0" encoding="UTF-8"?>\n${builder.build(document)}`, {
    status,
    headers: { ...headers, "content-type": "application/xml" },
  });
}

/** S3's response to a refused request, without a body for HEAD; `status` overrides that of the code. */
export function respondWithStorageError(
  { code, message, headers }: StorageError,
  { method, path, status = STATUS[code] }: { method: string; path: string; status?: number },
): Response {
  if (method === "HEAD") return new Response(null, { status, headers });
  const requestId = randomUUID();
  return respondWithXml(
    { Error: { Code: code, Message: message, Resource: path, RequestId: requestId } },
    { status, headers: { ...headers, "x-amz-request-id": requestId } },
  );
}
