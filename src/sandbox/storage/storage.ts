import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { MiddlewareHandler } from "hono";
import type { Env, RequestContext, SandboxContext } from "../env.ts";
import { BrokenOff, splitTarget } from "../requests.ts";
import type { StorageSession } from "../store.ts";
import { abortMultipart, completeMultipart, createMultipart, uploadPart } from "./multipart.ts";
import { getObject, putObject } from "./objects.ts";
import { BUCKET, respondWithStorageError, StorageError } from "./responses.ts";

/** Whether a request is for storage: below the bucket's path, or signed as storage requests are. */
export function isStorageRequest(incoming: IncomingMessage): boolean {
  const { path } = splitTarget(incoming);
  return (
    path === `/${BUCKET}` ||
    path.startsWith(`/${BUCKET}/`) ||
    (incoming.headers.authorization ?? "").startsWith("AWS4-HMAC-SHA256")
  );
}

/**
 * Responds to storage requests, an S3-compatible subset in path style: PutObject, GetObject, HeadObject and the four
 * calls of a multipart upload. Passes on every other request.
 */
export function makeStorage(sandbox: SandboxContext): MiddlewareHandler<Env> {
  return async (c, next) => {
    if (!isStorageRequest(c.env.incoming)) return next();
    const { method, path } = c.get("entry");
    try {
      return await respondToStorage(c, sandbox);
    } catch (error) {
      if (error instanceof BrokenOff) throw error;
      if (error instanceof StorageError) return respondWithStorageError(error, { method, path });
      const reason = error instanceof Error ? error.message : String(error);
      const failure = new StorageError("InternalError", `The sandbox failed: ${reason}`);
      return respondWithStorageError(failure, { method, path });
    }
  };
}

async function respondToStorage(c: RequestContext, sandbox: SandboxContext): Promise<Response> {
  const { incoming } = c.env;
  const { method } = c.get("entry");
  const { path, search } = splitTarget(incoming);
  const session = sessionOf(incoming, sandbox);
  const key = keyOf(path);
  if (!key.startsWith(session.keyPrefix)) {
    throw new StorageError("AccessDenied", `The session is valid for keys below ${session.keyPrefix} only.`);
  }
  const query = new URLSearchParams(search);
  const uploadId = query.get("uploadId");
  const partNumber = query.get("partNumber");
  if (uploadId === null) {
    if (method === "PUT" && partNumber === null) return putObject(c, sandbox, key);
    if (method === "GET" || method === "HEAD") return getObject(c, sandbox, key);
    if (method === "POST" && query.has("uploads")) return createMultipart(c, sandbox, key);
  } else {
    const upload = { key, uploadId };
    if (method === "PUT" && partNumber !== null) return uploadPart(c, sandbox, { ...upload, partNumber });
    if (method === "POST") return completeMultipart(c, sandbox, upload);
    if (method === "DELETE") return abortMultipart(sandbox, upload);
  }
  throw new StorageError("NotImplemented", `This storage has no such operation: ${method} ${incoming.url}`);
}

/**
 * The session of the access key that a request names. Its signature and token are not checked: signing is the SDK's work.
 *
 * @throws StorageError in S3's terms.
 */
function sessionOf({ headers }: IncomingMessage, { store, settings }: SandboxContext): StorageSession {
  const accessKey = accessKeyOf(headers);
  if (accessKey === undefined) throw new StorageError("AccessDenied", "The request is not signed.");
  const session = store.sessions.find(accessKey);
  if (session === undefined) throw new StorageError("InvalidAccessKeyId", "The access key does not exist.");
  if (settings.now() >= session.expiresAt) throw new StorageError("ExpiredToken", "The session has expired.");
  return session;
}

/** The access key that a request is signed with. */
export function accessKeyOf({ authorization = "" }: IncomingHttpHeaders): string | undefined {
  return /^AWS4-HMAC-SHA256 +Credential=([^/\s,]+)\//.exec(authorization)?.[1];
}

function keyOf(path: string): string {
  const [, bucket = "", ...rest] = path.split("/");
  if (bucket !== BUCKET)
    throw new StorageError("NoSuchBucket", `There is no bucket ${bucket}; there is ${BUCKET}.`);
  try {
    return decodeURIComponent(rest.join("/"));
  } catch {
    throw new StorageError("InvalidArgument", "The path is not encoded properly.");
  }
}
