import { randomUUID } from "node:crypto";
import { buildXml } from "./xml.ts";

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

/** A code of S3's error answers (Amazon S3 API Reference, "Error responses"). */
export type StorageErrorCode = keyof typeof STATUS;

/** A storage request that is refused, in S3's terms. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: StorageErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: StorageErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

/** S3's XML answer to a refused request; without a body for HEAD. */
export function renderStorageError(error: StorageError, request: { method: string; path: string }): Response {
  const status = STATUS[error.code];
  if (request.method === "HEAD") return new Response(null, { status, headers: error.headers });
  const requestId = randomUUID();
  const body = buildXml({
    Error: { Code: error.code, Message: error.message, Resource: request.path, RequestId: requestId },
  });
  return new Response(body, {
    status,
    headers: { ...error.headers, "content-type": "application/xml", "x-amz-request-id": requestId },
  });
}
