import { createRequire } from "node:module";
import { z } from "zod";
import { onAbort } from "../model/wait.ts";
import type { Call } from "./calls.ts";
import { connectTimeoutOf, findProxy, loadDispatcher } from "./connections.ts";
import { type Exchange, ExchangeHandler } from "./exchange-handler.ts";
import type { ServiceOptions } from "./options.ts";

/** What is sent of a call. The base address's own path goes before `path`. */
export type Request = Pick<
  Call<unknown>,
  "method" | "path" | "body" | "callClass" | "headers" | "ownConnection"
>;

/** Sends requests to one origin. Never rejects; what went wrong is in the {@link Exchange}. */
export interface Transport {
  /** `mayStart` is called right before the first byte is written; if false, the exchange ends `not_sent`, as `late`. */
  exchange(request: Request, mayStart: () => boolean): Promise<Exchange>;
  /** Later requests use new connections; requests in flight end on the old ones. */
  renewConnections(): void;
  /** Breaks what is in flight. */
  close(): Promise<void>;
}

/** The version of the interface. */
export const acceptedVersion = "application/vnd.api+json; com.service.api.version=1";

/**
 * Opens a transport over HTTP/1.1: one request a connection at a time, no redirects, no retries, no cookies, and the
 * `Authorization` header to the origin of `baseUrl` only. Throws `ConnectionOptionsError`.
 */
export function openTransport(options: ServiceOptions, baseUrl: URL): Transport {
  const prefix = baseUrl.pathname.replace(/\/+$/, "");
  findProxy(baseUrl, options);
  // Most scheduled runs send nothing, and undici takes a fifth of their time to load.
  let opened: ReturnType<typeof openConnections> | undefined;
  const agent = userAgent();
  const headersOf = ({ headers = {}, body }: Request) => {
    const { accept = acceptedVersion, apiKey = options.apiKey } = headers;
    const usual = ["Accept", accept, "Authorization", `Token ${apiKey}`, "User-Agent", agent];
    return body === undefined ? usual : [...usual, "Content-Type", options.profile.content_type];
  };

  const inFlight = new Set<ExchangeHandler>();
  const { drain, abortInFlight } = options.interrupts ?? {};
  const listeners = [
    onAbort(drain, () => {
      for (const handler of inFlight) handler.drain();
    }),
    onAbort(abortInFlight, () => {
      for (const handler of inFlight) handler.abortInFlight();
    }),
  ];

  return {
    async exchange(request, mayStart) {
      opened ??= openConnections(options, baseUrl);
      const { kept, single } = await opened;
      if (drain?.aborted) return { type: "not_sent", reason: "interrupted", error: undefined };
      // A kept connection may be closed by the server just when it is used again: then nothing shows whether the request arrived.
      const isAlone = request.ownConnection ?? request.callClass === "non_idempotent";
      return new Promise((resolve) => {
        const settle = (exchange: Exchange) => {
          inFlight.delete(handler);
          resolve(exchange);
        };
        const handler = new ExchangeHandler(options.timeoutMs, settle, mayStart);
        inFlight.add(handler);
        (isAlone ? single : kept()).dispatch(
          {
            origin: baseUrl.origin,
            method: request.method,
            path: `${prefix}${request.path}`,
            headers: headersOf(request),
            body: request.body === undefined ? null : JSON.stringify(request.body),
          },
          handler,
        );
      });
    },
    renewConnections() {
      void opened?.then(({ renew }) => renew());
    },
    async close() {
      for (const stopListening of listeners) stopListening();
      await (await opened)?.destroy();
    },
  };
}

/** The connections of a transport: those that are kept, and one for each request that needs its own. */
async function openConnections(options: ServiceOptions, baseUrl: URL) {
  const connectTimeoutMs = connectTimeoutOf(options.timeoutMs);
  const open = await loadDispatcher(baseUrl, {
    ...options,
    connections: options.concurrency,
    connectTimeoutMs,
  });
  let kept = open(1);
  const single = open(0);
  const all = new Set([kept, single]);
  return {
    kept: () => kept,
    single,
    renew: () => {
      const old = kept;
      kept = open(1);
      all.add(kept);
      const forget = () => void all.delete(old);
      old.close().then(forget, forget);
    },
    destroy: () => Promise.all([...all].map((dispatcher) => dispatcher.destroy())),
  };
}

const packageSchema = z.object({ version: z.string() });

/** `draftsync/VERSION` (RFC 9110 §10.1.5). */
export function userAgent(): string {
  return `draftsync/${packageVersion()}`;
}

/** The version of the package. */
export function packageVersion(): string {
  // By its own name, which is valid however deep the build puts this module.
  return packageSchema.parse(createRequire(import.meta.url)("draftsync/package.json")).version;
}
