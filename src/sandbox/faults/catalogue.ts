import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import type { RequestContext } from "../env.ts";
import { apiError, type Problem, renderApiError } from "../errors.ts";
import { JSON_API } from "../media-types.ts";
import type { Behavior } from "../options.ts";
import { respondWithStorageError, StorageError } from "../storage/responses.ts";

/**
 * Whether a request with a fault is processed: not at all; before the fault is seen; or after it, as a lost call that
 * arrives late.
 */
export type Effect = "none" | "before" | "after";

/** The settings of a rule that only some faults have. Times in milliseconds. */
export interface FaultSettings {
  readonly for?: number | undefined;
  readonly late?: number | undefined;
  readonly as?: "seconds" | "date" | "past-date" | undefined;
  readonly status?: number | undefined;
  readonly pointer?: string | undefined;
  readonly to?: string | undefined;
}

/** A response in memory. */
export interface WholeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Bytes that are sent on the socket instead of a response, once the entry is in the log. */
export interface Sending {
  /** The status that the client receives; `null`: none. */
  readonly status: number | null;
  send(): Promise<void>;
}

/** What a fault is made from. */
interface FaultParts {
  readonly c: RequestContext;
  readonly rule: FaultSettings;
  readonly behavior: Behavior;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The response of the service, when the request was processed before. */
  readonly answered: WholeResponse | undefined;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** What a client gets instead of the response; `undefined`: the response has no place for this fault, and stays. */
type Made = Response | Sending | undefined;
type Make = (parts: FaultParts) => Made;

/** One fault. */
export interface Fault {
  /** The effects it can have; the first one is the default. */
  readonly effects: readonly [Effect, ...Effect[]];
  readonly takes: readonly (keyof FaultSettings)[];
  /** Whether storage can have it, too. */
  readonly storage: boolean;
  /** Absent for `delay`, which changes no response. */
  readonly make?: Make;
}

/** The length that a huge body claims: 2 GiB. */
const HUGE_LENGTH = 2 * 1024 ** 3;
/** A number that loses its last digit in a double (2^53 + 1). */
const BIG_ID = "9007199254740993";
const PLACEHOLDER = `@${BIG_ID}@`;
/** Reserved never to be found (RFC 2606 §2). */
const NOWHERE = "http://storage.invalid";

type Takes = Fault["takes"];

/** A fault that the service and storage can have. */
function anywhere(effects: Fault["effects"], make: Make, takes: Takes = []): Fault {
  return { effects, takes, storage: true, make };
}

/** A fault that only the service can have. */
function inService(effects: Fault["effects"], make: Make, takes: Takes = []): Fault {
  return { effects, takes, storage: false, make };
}

const faults = {
  reset: anywhere(
    ["none", "before", "after"],
    ({ c }) => unseen(async () => void c.env.outgoing.socket?.resetAndDestroy()),
    ["late"],
  ),
  close: anywhere(["none", "before"], ({ c }) => unseen(async () => end(c.env.outgoing.socket))),
  stall: anywhere(["none", "before"], (parts) => unseen(() => hold(parts)), ["for"]),
  "cut-body": anywhere(["before"], (parts) => cut(parts, ({ length }) => ({ "content-length": length }))),
  "cut-chunks": anywhere(["before"], (parts) => cut(parts, () => ({ "transfer-encoding": "chunked" }))),
  garbage: anywhere(["none", "before"], ({ c }) =>
    unseen(async () => {
      const { socket } = c.env.outgoing;
      socket?.write(Buffer.from("SIP/2.0 999 \u0000\u00ff not HTTP at all\r\n\r\n", "latin1"));
      end(socket);
    }),
  ),
  "huge-body": anywhere(
    ["before", "none"],
    (parts) => {
      const { status, headers, body } = withBody(parts.answered);
      const send = async () => {
        parts.c.env.outgoing.writeHead(status, { ...headers, "content-length": HUGE_LENGTH }).write(body);
        await hold(parts);
      };
      return { status, send };
    },
    ["for"],
  ),
  delay: { effects: ["before", "after"], takes: ["for"], storage: true } satisfies Fault,
  status: anywhere(["none", "before"], respondWithStatus, ["status", "for"]),
  throttle: inService(
    ["none"],
    (parts) =>
      refuse(parts, { status: 429, detail: "Too many requests." }, { "retry-after": retryAfter(parts) }),
    ["for", "as"],
  ),
  "conflict-html": inService(
    ["none", "before"],
    () =>
      new Response(
        "<!DOCTYPE html>\n<html><head><title>409 Conflict</title></head><body>Conflict</body></html>\n",
        { status: 409, headers: { "content-type": "text/html; charset=utf-8" } },
      ),
  ),
  invalid: inService(
    ["none"],
    (parts) => {
      const pointer = parts.rule.pointer ?? lastAttribute(parts.c.get("entry").body);
      return refuse(parts, { status: 422, detail: "This value is not valid.", source: { pointer } });
    },
    ["pointer"],
  ),
  redirect: anywhere(
    ["none"],
    ({ c, rule }) => {
      const { url = "/", headers } = c.env.incoming;
      const [host, port] = (headers.host ?? "127.0.0.1").split(":");
      const other = host === "localhost" ? "127.0.0.1" : "localhost";
      const elsewhere = `http://${other}${port === undefined ? "" : `:${port}`}${url}`;
      return new Response(null, { status: 307, headers: { location: rule.to ?? elsewhere } });
    },
    ["to"],
  ),
  "echo-key": inService(["none"], (parts) => {
    const { authorization } = parts.c.env.incoming.headers;
    const detail = `Cannot serve the request with the header Authorization: ${authorization}`;
    return refuse(parts, { status: 400, detail });
  }),
  "escape-text": inService(["none"], (parts) =>
    refuse(parts, {
      status: 422,
      detail:
        "\u001b]0;title\u0007\u001b[2J\u001b[31mred\r\u202egnp.exe\n::error::a command of a CI log\u009b1A",
    }),
  ),
  compressed: inService(["before"], ({ answered }) =>
    answered === undefined || answered.body.length === 0
      ? undefined
      : respondAgain(answered, gzipSync(answered.body), { "content-encoding": "gzip" }),
  ),
  "media-type": inService(["before"], ({ answered }) => {
    if (answered === undefined || answered.body.length === 0) return undefined;
    const type = `${answered.headers["content-type"] ?? JSON_API}; charset=utf-8; profile="a;b"`;
    return respondAgain(answered, answered.body, { "content-type": type });
  }),
  "data-with-errors": inService(["before"], (parts) =>
    changeDocument(parts, (document) => ({
      ...document,
      errors: [{ status: "500", title: "Internal Server Error" }],
    })),
  ),
  "no-id": inService(["before"], (parts) => changeResources(parts, ({ id: _id, ...resource }) => resource)),
  "other-type": inService(["before"], (parts) =>
    changeResources(parts, (resource) => ({ ...resource, type: "thing" })),
  ),
  "big-id": inService(["before"], (parts) =>
    changeResources(parts, ({ attributes = {}, ...resource }) => ({
      ...resource,
      id: PLACEHOLDER,
      attributes: "file_id" in attributes ? { ...attributes, file_id: PLACEHOLDER } : attributes,
    })),
  ),
  "no-content": inService(["before"], ({ answered }) =>
    isSuccess(answered) ? new Response(null, { status: 204 }) : undefined,
  ),
  accepted: inService(
    ["before", "after", "none"],
    ({ answered }) => {
      if (answered !== undefined && !isSuccess(answered)) return undefined;
      const body = answered?.body ?? '{"meta":{}}';
      return new Response(body, { status: 202, headers: { "content-type": JSON_API } });
    },
    ["late"],
  ),
  "foreign-endpoint": inService(
    ["before"],
    (parts) =>
      changeDocument(parts, (document) => {
        const { data } = document;
        if (Array.isArray(data) || data.type !== "upload_credential") return undefined;
        const endpoint = parts.rule.to ?? NOWHERE;
        return { ...document, data: { ...data, attributes: { ...data.attributes, endpoint } } };
      }),
    ["to"],
  ),
};

/** The name of a fault. */
export type FaultName = keyof typeof faults;

/** All faults. docs/reference/sandbox.md describes them. */
export const FAULTS: Readonly<Record<FaultName, Fault>> = faults;

/** Waits, unless the sandbox closes before. */
export async function wait(ms: number, closing: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: closing }).catch(() => undefined);
}

/** A fault in which the client receives no status. */
function unseen(send: Sending["send"]): Sending {
  return { status: null, send };
}

/** Sends half of the body, and closes the connection. */
function cut(
  { c, answered }: FaultParts,
  framing: (body: Buffer) => Record<string, string | number>,
): Sending {
  const { status, headers, body } = withBody(answered);
  const send = async () => {
    const { outgoing } = c.env;
    outgoing.writeHead(status, { ...headers, ...framing(body) });
    await new Promise<void>((written) => outgoing.write(body.subarray(0, body.length / 2), () => written()));
    end(outgoing.socket);
  };
  return { status, send };
}

/** A response without a body (204) gets one. */
function withBody(answered: WholeResponse | undefined): WholeResponse {
  if (answered !== undefined && answered.body.length > 0) return answered;
  return { status: 200, headers: { "content-type": JSON_API }, body: Buffer.from('{"meta":{}}') };
}

/** Closes a connection in order (FIN), and completely once the client has seen it. */
function end(socket: Socket | null): void {
  socket?.end(() => socket.destroySoon());
}

/** Keeps a silent connection open until the client closes it, for at most `for`; then destroys it. */
async function hold({ c, rule, closing }: FaultParts): Promise<void> {
  const { socket } = c.env.outgoing;
  if (socket === null || socket.destroyed) return;
  const settled = new AbortController();
  const signal = AbortSignal.any([closing, settled.signal]);
  const closed = once(socket, "close", { signal }).catch(() => undefined);
  await Promise.race([closed, wait(rule.for ?? 600_000, signal)]);
  settled.abort();
  socket.destroy();
}

function respondWithStatus(parts: FaultParts): Response {
  const { status = 500, for: waitMs } = parts.rule;
  const detail = "A fault that was asked for.";
  const { side, method, path } = parts.c.get("entry");
  if (side === "storage") {
    const code = status === 503 ? "SlowDown" : status < 500 ? "AccessDenied" : "InternalError";
    return respondWithStorageError(new StorageError(code, detail), { method, path, status });
  }
  const headers = {
    ...(status === 401 ? { "www-authenticate": 'Token realm="draftsync sandbox"' } : {}),
    ...(waitMs === undefined ? {} : { "retry-after": retryAfter(parts) }),
  };
  return refuse(parts, { status, detail }, headers);
}

function refuse({ behavior }: FaultParts, problem: Omit<Problem, "code">, headers = {}): Response {
  return renderApiError(apiError({ code: "fault", ...problem }, headers), behavior);
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function retryAfter({ rule: { for: waitMs = 1000, as = "seconds" }, now }: FaultParts): string {
  if (as === "seconds") return String(Math.ceil(waitMs / 1000));
  const at = as === "date" ? Math.ceil((now + waitMs) / 1000) * 1000 : now - 3_600_000;
  return new Date(at).toUTCString();
}

const WithAttributes = z.object({ data: z.object({ attributes: z.record(z.string(), z.unknown()) }) });

/** A pointer to the last attribute of a request. */
function lastAttribute(body: unknown): string {
  const attributes = WithAttributes.safeParse(body).data?.data.attributes ?? {};
  const name = Object.keys(attributes).at(-1);
  return name === undefined ? "/data" : `/data/attributes/${name}`;
}

function isSuccess(answered: WholeResponse | undefined): answered is WholeResponse {
  return answered !== undefined && answered.status < 300;
}

const ResourceSchema = z.looseObject({ type: z.string(), attributes: z.looseObject({}).optional() });
const DocumentSchema = z.looseObject({ data: z.union([ResourceSchema, z.array(ResourceSchema).min(1)]) });
type JsonDocument = z.output<typeof DocumentSchema>;
type JsonResource = z.output<typeof ResourceSchema>;

/** The response with its document changed; `undefined` without a document with data. */
function changeDocument(
  { answered }: FaultParts,
  change: (document: JsonDocument) => object | undefined,
): Response | undefined {
  if (!isSuccess(answered) || answered.body.length === 0) return undefined;
  const parsed = DocumentSchema.safeParse(JSON.parse(answered.body.toString()));
  const document = parsed.success ? change(parsed.data) : undefined;
  if (document === undefined) return undefined;
  return respondAgain(answered, JSON.stringify(document).replaceAll(`"${PLACEHOLDER}"`, BIG_ID));
}

function changeResources(
  parts: FaultParts,
  change: (resource: JsonResource) => object,
): Response | undefined {
  return changeDocument(parts, ({ data, ...others }) => ({
    ...others,
    data: Array.isArray(data) ? data.map(change) : change(data),
  }));
}

function respondAgain({ status, headers }: WholeResponse, body: string | Buffer, changed = {}): Response {
  return new Response(body, { status, headers: { ...headers, ...changed } });
}
