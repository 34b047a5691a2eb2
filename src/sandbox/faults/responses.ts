import type { ReadableStream } from "node:stream/web";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { apiError, type Problem, renderApiError } from "../api-error.ts";
import type { RequestContext } from "../env.ts";
import { JSON_API } from "../media-types.ts";
import type { Settings } from "../options.ts";
import { renderStorageError, StorageError } from "../storage/storage-error.ts";
import type { AnswerFault } from "./catalogue.ts";
import type { FaultRule } from "./rules.ts";

/** What a faulty answer is made from. */
export interface AnswerParts {
  readonly c: RequestContext;
  readonly settings: Settings;
  readonly rule: FaultRule;
  /** What the service answered, when the request was carried out before. */
  readonly answered: Response | undefined;
}

/** Makes a faulty answer; `undefined`: the answer has nothing that this fault could be in, and stays as it is. */
type MakeAnswer = (parts: AnswerParts) => Response | undefined | Promise<Response | undefined>;

/** A number that loses its last digit in a double (2^53 + 1). */
const BIG_ID = "9007199254740993";
/** Reserved never to be found (RFC 2606 §2). */
const NOWHERE = "http://storage.invalid";
const DEFAULT_WAIT_MS = 1000;

/** A faulty answer for each fault; `delay` and what a `late` effect needs are made by the gate. */
export const ANSWERS: Readonly<Record<Exclude<AnswerFault, "delay">, MakeAnswer>> = {
  status: (parts) => respondWithStatus(parts),
  throttle: ({ rule, settings }) =>
    refused(
      settings,
      { status: 429, detail: "Too many requests." },
      { "retry-after": retryAfter(rule, settings) },
    ),
  "conflict-html": () =>
    new Response(
      "<!DOCTYPE html>\n<html><head><title>409 Conflict</title></head><body>Conflict</body></html>\n",
      {
        status: 409,
        headers: { "content-type": "text/html; charset=utf-8" },
      },
    ),
  invalid: ({ c, rule, settings }) => {
    const pointer = rule.pointer ?? pointerInto(c.get("entry").body);
    return refused(settings, { status: 422, detail: "This value is not valid.", source: { pointer } });
  },
  redirect: ({ c, rule }) => {
    const { host = "", port } = splitHost(c.env.incoming.headers.host);
    const elsewhere = `http://${host === "localhost" ? "127.0.0.1" : "localhost"}${port}${c.env.incoming.url}`;
    return new Response(null, { status: 307, headers: { location: rule.to ?? elsewhere } });
  },
  "echo-key": ({ c, settings }) =>
    refused(settings, {
      status: 400,
      detail: `Cannot serve the request with the header Authorization: ${c.env.incoming.headers.authorization}`,
    }),
  "escape-text": ({ settings }) =>
    refused(settings, {
      status: 422,
      detail:
        "\u001b]0;title\u0007\u001b[2J\u001b[31mred\r\u202egnp.exe\n::error::a command of a CI log\u009b1A",
    }),
  compressed: async ({ answered }) => {
    if (answered === undefined || answered.body === null) return undefined;
    const bytes = gzipSync(Buffer.from(await answered.arrayBuffer()));
    return again(answered, bytes, { "content-encoding": "gzip" });
  },
  "media-type": ({ answered }) => {
    if (answered === undefined || answered.body === null) return undefined;
    const type = answered.headers.get("content-type") ?? JSON_API;
    return again(answered, answered.body, { "content-type": `${type}; charset=utf-8; profile="a;b"` });
  },
  "data-with-errors": (parts) =>
    changed(parts, (document) => ({
      ...document,
      errors: [{ status: "500", title: "Internal Server Error" }],
    })),
  "no-id": (parts) =>
    changed(
      parts,
      eachResource(({ id: _id, ...resource }) => resource),
    ),
  "other-type": (parts) =>
    changed(
      parts,
      eachResource((resource) => ({ ...resource, type: "thing" })),
    ),
  "big-id": (parts) =>
    changed(
      parts,
      eachResource(({ attributes = {}, ...resource }) => ({
        ...resource,
        id: PLACEHOLDER,
        attributes: "file_id" in attributes ? { ...attributes, file_id: PLACEHOLDER } : attributes,
      })),
    ),
  "no-content": ({ answered }) => (answered?.ok === true ? new Response(null, { status: 204 }) : undefined),
  accepted: async ({ answered }) => {
    if (answered === undefined) return jsonResponse(202, JSON.stringify({ meta: {} }));
    return answered.ok ? jsonResponse(202, await bodyOf(answered)) : undefined;
  },
  "foreign-endpoint": (parts) =>
    changed(parts, (document) => {
      const { data } = document;
      if (Array.isArray(data) || data.type !== "upload_credential") return undefined;
      const endpoint = parts.rule.to ?? NOWHERE;
      return { ...document, data: { ...data, attributes: { ...data.attributes, endpoint } } };
    }),
};

function respondWithStatus({ c, rule, settings }: AnswerParts): Response {
  const status = rule.status ?? 500;
  if (c.get("entry").side === "storage") {
    const code = status === 503 ? "SlowDown" : status < 500 ? "AccessDenied" : "InternalError";
    const { method, path } = c.get("entry");
    const failed = renderStorageError(new StorageError(code, "A fault that was asked for."), {
      method,
      path,
    });
    return new Response(failed.body, { status, headers: failed.headers });
  }
  return refused(
    settings,
    { status, detail: "A fault that was asked for." },
    {
      ...(status === 401 ? { "www-authenticate": 'Token realm="draftsync sandbox"' } : {}),
      ...(rule.for === undefined ? {} : { "retry-after": retryAfter(rule, settings) }),
    },
  );
}

function refused(
  { behavior }: Settings,
  problem: Omit<Problem, "code">,
  headers: Record<string, string> = {},
): Response {
  return renderApiError(apiError({ code: "fault", ...problem }, headers), behavior);
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function retryAfter({ for: waitMs = DEFAULT_WAIT_MS, as = "seconds" }: FaultRule, { now }: Settings): string {
  const at = Math.ceil((now() + waitMs) / 1000) * 1000;
  switch (as) {
    case "seconds":
      return String(Math.ceil(waitMs / 1000));
    case "date":
      return new Date(at).toUTCString();
    case "past-date":
      return new Date(now() - 3_600_000).toUTCString();
  }
}

const WithAttributes = z.object({ data: z.object({ attributes: z.record(z.string(), z.unknown()) }) });

/** The last attribute of the request, as what a service would find fault with. */
function pointerInto(body: unknown): string {
  const parsed = WithAttributes.safeParse(body);
  const name = parsed.success ? Object.keys(parsed.data.data.attributes).at(-1) : undefined;
  return name === undefined ? "/data" : `/data/attributes/${name}`;
}

function splitHost(header = "127.0.0.1"): { host: string | undefined; port: string } {
  const [host, port] = header.split(":");
  return { host, port: port === undefined ? "" : `:${port}` };
}

const ResourceSchema = z.looseObject({ type: z.string(), attributes: z.looseObject({}).optional() });
const DocumentSchema = z.looseObject({ data: z.union([ResourceSchema, z.array(ResourceSchema).min(1)]) });
type JsonDocument = z.output<typeof DocumentSchema>;
type JsonResource = z.output<typeof ResourceSchema>;

const PLACEHOLDER = `@${BIG_ID}@`;

/** The answer with its document changed; `undefined` when there is none with data. */
async function changed(
  { answered }: AnswerParts,
  change: (document: JsonDocument) => object | undefined,
): Promise<Response | undefined> {
  if (answered?.ok !== true || answered.body === null) return undefined;
  const text = await bodyOf(answered);
  const parsed = DocumentSchema.safeParse(JSON.parse(text));
  const document = parsed.success ? change(parsed.data) : undefined;
  if (document === undefined) return undefined;
  const changedText = JSON.stringify(document).replaceAll(`"${PLACEHOLDER}"`, BIG_ID);
  return again(answered, changedText, {});
}

function eachResource(change: (resource: JsonResource) => object): (document: JsonDocument) => object {
  return (document) => ({
    ...document,
    data: Array.isArray(document.data) ? document.data.map(change) : change(document.data),
  });
}

/** Reads a copy, so that the answer can still be given as it is. */
function bodyOf(answered: Response): Promise<string> {
  return answered.clone().text();
}

function again(
  answered: Response,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  headers: Record<string, string>,
): Response {
  const all = new Headers(answered.headers);
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return new Response(body, { status: answered.status, headers: all });
}

function jsonResponse(status: number, text: string): Response {
  return new Response(text, { status, headers: { "content-type": JSON_API } });
}
