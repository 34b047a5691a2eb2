import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { MiddlewareHandler } from "hono";
import type { Env, RequestContext, SandboxContext } from "../env.ts";
import { BrokenOff } from "../request-body.ts";
import type { StorageSession } from "../store/sessions.ts";
import { abortMultipart, completeMultipart, createMultipart, uploadPart } from "./multipart.ts";
import { getObject, putObject } from "./objects.ts";
import { BUCKET } from "./place.ts";
import { renderStorageError, StorageError } from "./storage-error.ts";

/** Whether a request is for storage: below the bucket's path, or signed the way storage requests are. */
export function isStorageRequest(incoming: IncomingMessage): boolean {
  const path = pathOf(incoming);
  return (
    path === `/${BUCKET}` ||
    path.startsWith(`/${BUCKET}/`) ||
    (incoming.headers.authorization ?? "").startsWith("AWS4-HMAC-SHA256")
  );
}

/**
 * Answers storage requests, an S3-compatible subset in path style: PutObject, GetObject, HeadObject and the four
 * calls of a multipart upload. Lets every other request pass.
 */
export function makeStorage(sandbox: SandboxContext): MiddlewareHandler<Env> {
  return async (c, next) => {
    if (!isStorageRequest(c.env.incoming)) return next();
    try {
      return await respondToStorage(c, sandbox);
    } catch (error) {
      if (error instanceof BrokenOff) throw error;
      const refused =
        error instanceof StorageError
          ? error
          : new StorageError(
              "InternalError",
              `The sandbox failed: ${error instanceof Error ? error.message : error}`,
            );
      return renderStorageError(refused, {
        method: c.env.incoming.method ?? "",
        path: pathOf(c.env.incoming),
      });
    }
  };
}

async function respondToStorage(c: RequestContext, sandbox: SandboxContext): Promise<Response> {
  const { incoming } = c.env;
  const method = incoming.method ?? "";
  const path = pathOf(incoming);
  const query = queryOf(incoming);
  const session = sessionOf(incoming, sandbox);
  const key = keyOf(path);
  if (!key.startsWith(session.keyPrefix)) {
    throw new StorageError("AccessDenied", `The session is good for keys below ${session.keyPrefix} only.`);
  }
  const { uploadId, partNumber, uploads } = query;
  if (uploadId === undefined) {
    if (method === "PUT" && partNumber === undefined) return putObject(c, sandbox, key);
    if (method === "GET" || method === "HEAD") return getObject(c, sandbox, key);
    if (method === "POST" && uploads !== undefined) return createMultipart(c, sandbox, key);
  } else {
    if (method === "PUT" && partNumber !== undefined) {
      return uploadPart(c, sandbox, { key, uploadId, number: partNumber });
    }
    if (method === "POST") return completeMultipart(c, sandbox, { key, uploadId });
    if (method === "DELETE") return abortMultipart(sandbox, { key, uploadId });
  }
  throw new StorageError("NotImplemented", `This storage has no such operation: ${method} ${incoming.url}`);
}

/**
 * The session of the access key that a request names. Neither its signature nor its token is checked: signing is the SDK's
 * own work.
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

function pathOf(incoming: IncomingMessage): string {
  return (incoming.url ?? "/").split("?", 1)[0] ?? "/";
}

/** A query with `+` left as it is: SigV4 encodes a space as `%20`. */
function queryOf(incoming: IncomingMessage): Record<string, string> {
  const target = incoming.url ?? "";
  const start = target.indexOf("?");
  if (start < 0) return {};
  const pairs = target
    .slice(start + 1)
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [decode(name), decode(value.join("="))];
    });
  return Object.fromEntries(pairs);
}

function keyOf(path: string): string {
  const [, bucket = "", ...rest] = path.split("/");
  if (bucket !== BUCKET)
    throw new StorageError("NoSuchBucket", `There is no bucket ${bucket}; there is ${BUCKET}.`);
  return decode(rest.join("/"));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StorageError("InvalidArgument", "The request target is not encoded properly.");
  }
}
