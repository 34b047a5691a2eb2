import { onAbort } from "../model/on-abort.ts";
import type { Interrupts } from "../model/ports.ts";
import { type ConnectionOptions, findProxy } from "./connections.ts";
import type { Exchange } from "./exchange-handler.ts";
import { ExchangeHandler } from "./exchange-handler.ts";

/** One request. `path` begins with `/api` and may hold a query; the base address's own path goes before it. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: string;
  /**
   * Over a connection of its own, closed afterwards: a kept one may be closed by the server at the moment it is used
   * again, and then nobody knows whether the request arrived.
   */
  readonly ownConnection?: boolean;
  /** In place of the interface's version 1. */
  readonly accept?: string;
  /** Asked right before the first byte is written; if false, the exchange ends `not_sent`, as `late`. */
  readonly mayStart?: () => boolean;
  /** In place of the API key; never one made from it. */
  readonly apiKey?: string;
}

/** Arguments of {@link openTransport}. */
export interface TransportOptions extends ConnectionOptions {
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly contentType: string;
  readonly userAgent: string;
  readonly connections: number;
  /** Of one exchange, from dispatch to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly interrupts?: Interrupts | undefined;
}

/** Sends requests to one origin. Never rejects; what went wrong is in the {@link Exchange}. */
export interface Transport {
  exchange(request: HttpRequest): Promise<Exchange>;
  /** Later requests use new connections; requests in flight end on the old ones. */
  renewConnections(): void;
  /** Breaks what is in flight. */
  close(): Promise<void>;
}

/** The version of the interface. */
export const acceptedVersion = "application/vnd.api+json; com.service.api.version=1";

const maxConnectMs = 10_000;

/**
 * Opens a transport over HTTP/1.1: one request a connection at a time, no redirects, no retries, no cookies, and the
 * `Authorization` header to the origin of `baseUrl` only. Throws `ConnectionOptionsError`.
 */
export function openTransport(options: TransportOptions): Transport {
  const { origin } = options.baseUrl;
  const prefix = options.baseUrl.pathname.replace(/\/+$/, "");
  findProxy(options.baseUrl, options);
  // Most runs that are scheduled send nothing, and undici takes a fifth of their time to load.
  let opened: ReturnType<typeof openConnections> | undefined;
  const { userAgent, contentType } = options;
  const headersOf = ({ accept = acceptedVersion, apiKey = options.apiKey, body }: HttpRequest) => {
    const headers = ["Accept", accept, "Authorization", `Token ${apiKey}`, "User-Agent", userAgent];
    if (body !== undefined) headers.push("Content-Type", contentType);
    return headers;
  };

  const inFlight = new Set<ExchangeHandler>();
  const { drain, abortInFlight } = options.interrupts ?? {};
  const leave = [
    onAbort(drain, () => {
      for (const handler of inFlight) handler.drain();
    }),
    onAbort(abortInFlight, () => {
      for (const handler of inFlight) handler.abortInFlight();
    }),
  ];

  return {
    async exchange(request) {
      opened ??= openConnections(options);
      const { kept, single } = await opened;
      if (drain?.aborted) return { type: "not_sent", reason: "interrupted", error: undefined };
      const dispatcher = request.ownConnection === true ? single : kept();
      return new Promise((resolve) => {
        const settle = (exchange: Exchange) => {
          inFlight.delete(handler);
          resolve(exchange);
        };
        const handler = new ExchangeHandler(options.timeoutMs, settle, request.mayStart);
        inFlight.add(handler);
        dispatcher.dispatch(
          {
            origin,
            method: request.method,
            path: `${prefix}${request.path}`,
            headers: headersOf(request),
            body: request.body ?? null,
          },
          handler,
        );
      });
    },
    renewConnections() {
      void opened?.then(({ renew }) => renew());
    },
    async close() {
      for (const stopListening of leave) stopListening();
      await (await opened)?.destroy();
    },
  };
}

/** The connections of a transport: those that are kept, and one for each request that wants its own. */
async function openConnections(options: TransportOptions) {
  const { openDispatcher } = await import("./dispatcher.ts");
  const open = (pipelining: 0 | 1) =>
    openDispatcher(options.baseUrl, {
      ...options,
      pipelining,
      connectTimeoutMs: Math.min(options.timeoutMs, maxConnectMs),
    });
  let kept = open(1);
  const retired = new Set<typeof kept>();
  const single = open(0);
  return {
    kept: () => kept,
    single,
    renew: () => {
      const old = kept;
      kept = open(1);
      retired.add(old);
      const forget = () => void retired.delete(old);
      old.close().then(forget, forget);
    },
    destroy: () => Promise.all([kept, single, ...retired].map((dispatcher) => dispatcher.destroy())),
  };
}
