import type { IncomingMessage } from "node:http";
import type { Hono } from "hono";
import type { Env, RequestContext } from "./env.ts";
import { apiError } from "./errors.ts";
import { JSON_API, parseMediaType } from "./media-types.ts";
import type { Settings } from "./options.ts";

type Handler = (c: RequestContext) => Response | Promise<Response>;

/** Adds a path. Any other method on it gets 405 with `Allow` (RFC 9110 §15.5.6). */
export function addPath(
  app: Hono<Env>,
  path: string,
  methods: Readonly<Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Handler>>>,
): void {
  const names = Object.keys(methods).flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  const allow = names.join(", ");
  for (const [method, handler] of Object.entries(methods)) app.on(method, path, handler);
  app.all(path, (c) => {
    const detail = `${c.env.incoming.method} is not allowed here; ${allow} is.`;
    throw apiError({ status: 405, code: "method-not-allowed", detail }, { allow });
  });
}

/**
 * Reads a numeric path parameter. "Numeric path parameters must be numbers": anything but the plain decimal form of
 * a positive number that is exact in JSON is a malformed request (400), not a missing resource.
 *
 * @throws ApiError 400 with `source.parameter`.
 */
export function readPathId(c: RequestContext, parameter: string): number {
  const text = c.req.param(parameter) ?? "";
  if (isId(text)) return Number(text);
  throw apiError({
    status: 400,
    code: "not-a-number",
    detail: `The path parameter ${parameter} must be a number.`,
    source: { parameter },
  });
}

/** Whether a text is the plain decimal form of an id. */
export function isId(text: string): boolean {
  return /^[1-9]\d*$/.test(text) && Number.isSafeInteger(Number(text));
}

/** The path and the query of a request, as sent. */
export function splitTarget({ url = "/" }: IncomingMessage): { path: string; search: string } {
  const at = url.indexOf("?");
  return at < 0 ? { path: url, search: "" } : { path: url.slice(0, at), search: url.slice(at + 1) };
}

/** The connection ended before the request was complete. The client cannot receive a response. */
export class BrokenOff extends Error {
  override readonly name = "BrokenOff";
}

/** Bodies that were read before the request is processed. */
const held = new WeakMap<IncomingMessage, Buffer>();

/** The chunks of a request's body. Leaving the loop early leaves the connection open for a response. */
export async function* chunksOf(incoming: IncomingMessage): AsyncGenerator<Buffer> {
  const known = held.get(incoming);
  if (known !== undefined) {
    yield known;
    return;
  }
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) yield chunk;
  } catch (cause) {
    throw new BrokenOff("The request broke off inside its body.", { cause });
  }
}

/**
 * Reads the JSON document of a request; `undefined` when it has no body.
 *
 * @throws ApiError 415 for another media type, 413 beyond the limit, 400 for what is not JSON in UTF-8.
 */
export async function readDocument(c: RequestContext, settings: Settings): Promise<unknown> {
  const { incoming } = c.env;
  if (!hasBody(incoming)) return undefined;
  checkContentType(incoming.headers["content-type"], settings);
  const bytes = await readBody(incoming, settings);
  const entry = c.get("entry");
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    entry.body = text;
    const document: unknown = JSON.parse(text);
    entry.body = document;
    return document;
  } catch {
    throw apiError({ status: 400, code: "malformed-json", detail: "The body is not JSON in UTF-8." });
  }
}

/**
 * Reads and logs the body of a request that does without it, or that may be processed later, when its connection is gone.
 */
export async function receiveBody(c: RequestContext, settings: Settings): Promise<void> {
  const { incoming } = c.env;
  if (!hasBody(incoming)) return;
  const bytes = await readBody(incoming, settings);
  held.set(incoming, bytes);
  const text = bytes.toString("utf8");
  try {
    c.get("entry").body = JSON.parse(text);
  } catch {
    c.get("entry").body = text;
  }
}

/** Whether a request has a body (RFC 9112 §6.3). */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function checkContentType(header: string | undefined, settings: Settings): void {
  const type = header === undefined ? undefined : parseMediaType(header);
  const refused = (detail: string) =>
    apiError({ status: 415, code: "unsupported-media-type", detail, source: { header: "Content-Type" } });
  const { mediaTypes } = settings.behavior;
  if (mediaTypes === "lenient" && type?.name === "application/json") return;
  if (type?.name !== JSON_API) throw refused(`The body must be ${JSON_API}.`);
  if (mediaTypes === "strict" && type.parameters.size > 0) {
    throw refused(`${JSON_API} takes no parameters on Content-Type.`);
  }
}

async function readBody(incoming: IncomingMessage, { maxBodyBytes: limit }: Settings): Promise<Buffer> {
  const tooLarge = () =>
    apiError({
      status: 413,
      code: "body-too-large",
      detail: `The body is larger than ${limit} bytes.`,
      source: { header: "Content-Length" },
    });
  if (Number(incoming.headers["content-length"] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(incoming)) {
    size += chunk.length;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
