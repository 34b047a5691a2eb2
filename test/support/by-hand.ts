import type { RequestLogEntry, Sandbox } from "../../src/sandbox/server.ts";

/** Calls the service with the key as another client, and returns the status. `path` begins with `/api/`. */
export async function callByHand(
  sandbox: Sandbox,
  key: string,
  {
    method,
    path,
    attributes,
  }: { readonly method: string; readonly path: string; readonly attributes?: object },
): Promise<number> {
  const data = { type: path.includes("product_files") ? "product_file" : "promotional_file", attributes };
  const response = await fetch(`${sandbox.url}${path}`, {
    method,
    headers: {
      accept: "application/vnd.api+json; com.service.api.version=1",
      "content-type": "application/vnd.api+json",
      authorization: `Token ${key}`,
    },
    ...(attributes === undefined ? {} : { body: JSON.stringify({ data }) }),
  });
  return response.status;
}

/** `METHOD path attributes` of the writes, without probes, which name no attribute. */
export function writes(arrivals: readonly RequestLogEntry[]): string[] {
  return arrivals
    .filter(({ method, body }) => method !== "GET" && !isProbe(method, body))
    .map(({ method, path, body }) => `${method} ${path} ${JSON.stringify(attributesOf(body) ?? {})}`)
    .sort();
}

/** Paths of the probes in the order of arrival. */
export function probes(arrivals: readonly RequestLogEntry[]): string[] {
  return arrivals.filter(({ method, body }) => isProbe(method, body)).map(({ path }) => path);
}

function isProbe(method: string, body: unknown): boolean {
  const attributes = attributesOf(body);
  return method === "PATCH" && attributes !== undefined && Object.keys(attributes).length === 0;
}

function attributesOf(body: unknown): object | undefined {
  if (typeof body !== "object" || body === null || !("data" in body)) return undefined;
  const { data } = body;
  if (typeof data !== "object" || data === null) return undefined;
  if (!("attributes" in data)) return {};
  return typeof data.attributes === "object" && data.attributes !== null ? data.attributes : undefined;
}
