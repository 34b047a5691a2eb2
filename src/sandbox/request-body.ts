import type { IncomingMessage } from "node:http";
import { apiError } from "./api-error.ts";
import type { RequestContext } from "./env.ts";
import { JSON_API, parseMediaType } from "./media-types.ts";
import type { Settings } from "./options.ts";

/** The connection ended before the request was whole. There is nobody left to answer. */
export class BrokenOff extends Error {
  override readonly name = "BrokenOff";
}

/** Bodies that were read before the request is carried out. */
const held = new WeakMap<IncomingMessage, Buffer>();

/** The chunks of a request's body. Leaving the loop early leaves the connection open for an answer. */
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

/** Whether a request has a body at all (RFC 9112 §6.3). */
export function hasBody(incoming: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = incoming.headers;
  return encoding !== undefined || (length !== undefined && Number(length) > 0);
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
  const bytes = await readWithin(incoming, settings.maxBodyBytes);
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

/** Reads a body that the document gives no meaning to, for the log alone. */
export async function readUnusedBody(c: RequestContext, settings: Settings): Promise<void> {
  if (!hasBody(c.env.incoming)) return;
  const bytes = await readWithin(c.env.incoming, settings.maxBodyBytes);
  c.get("entry").body = bytes.toString("utf8");
}

/** Reads the body of a request that may be carried out later, when its connection is gone. For the log as well. */
export async function holdBody(c: RequestContext, settings: Settings): Promise<void> {
  if (!hasBody(c.env.incoming)) return;
  const bytes = await readWithin(c.env.incoming, settings.maxBodyBytes);
  held.set(c.env.incoming, bytes);
  const text = bytes.toString("utf8");
  try {
    c.get("entry").body = JSON.parse(text);
  } catch {
    c.get("entry").body = text;
  }
}

/** Reads a body and forgets it. */
export async function drainBody(incoming: IncomingMessage): Promise<void> {
  for await (const _chunk of chunksOf(incoming));
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

async function readWithin(incoming: IncomingMessage, limit: number): Promise<Buffer> {
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
