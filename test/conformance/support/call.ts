import { type IncomingHttpHeaders, request } from "node:http";
import { z } from "zod";

/** The key of every sandbox in the suite. */
export const KEY = "sandbox-key";

/** The media type of the interface. */
export const JSON_API = "application/vnd.api+json";

/** A response. */
export interface ApiResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body; `undefined` when it is empty. */
  json: unknown;
}

/** A request. A header that is `undefined` is not sent; a string body is sent unchanged. */
export interface Call {
  method: string;
  path: string;
  headers?: Record<string, string | undefined>;
  body?: unknown;
}

const USUAL = {
  accept: `${JSON_API}; com.service.api.version=1`,
  authorization: `Token ${KEY}`,
};

/** Adds Content-Length unless the request is chunked. */
function framing(text: string | undefined, headers: Record<string, string | undefined>) {
  if (text === undefined || headers["transfer-encoding"] !== undefined) return {};
  return { "content-length": String(Buffer.byteLength(text)) };
}

/** Sends one request with the required headers on a new connection. */
export function call(base: string, { method, path, headers = {}, body }: Call): Promise<ApiResponse> {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const all = {
    ...USUAL,
    ...(text === undefined ? {} : { "content-type": JSON_API }),
    ...framing(text, headers),
    ...headers,
  };
  const sent = Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, base), { method, headers: sent, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const received = Buffer.concat(chunks).toString("utf8");
        const type = incoming.headers["content-type"] ?? "";
        const json: unknown = received !== "" && type.includes("json") ? JSON.parse(received) : undefined;
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text: received, json });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(text);
  });
}

const Errors = z.object({
  errors: z
    .array(
      z.object({
        status: z.string(),
        code: z.string(),
        title: z.string(),
        detail: z.string(),
        source: z.record(z.string(), z.string()).optional(),
      }),
    )
    .min(1),
});

/** The JSON:API error objects of a response. */
export function errorsOf(response: ApiResponse) {
  return Errors.parse(response.json).errors;
}

/** The error pointers of a response. */
export function pointersOf(response: ApiResponse): (string | undefined)[] {
  return errorsOf(response).map((error) => error.source?.pointer);
}

const OneResource = z.object({
  data: z.object({
    type: z.string(),
    id: z.string(),
    attributes: z.record(z.string(), z.unknown()),
    relationships: z.record(z.string(), z.unknown()).optional(),
  }),
});

/** The resource of a response. */
export function resourceOf(response: ApiResponse) {
  return OneResource.parse(response.json).data;
}
