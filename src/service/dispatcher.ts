import { type Dispatcher, Pool, ProxyAgent } from "undici";
import { type ConnectionOptions, findProxy, trust } from "./connections.ts";

/** What the dispatcher of one origin is opened with. Times in milliseconds. */
export interface DispatcherOptions extends ConnectionOptions {
  readonly connections: number;
  /** Requests on one connection, one after the other; 0: each has its own. */
  readonly pipelining: 0 | 1;
  readonly connectTimeoutMs: number;
}

/**
 * Opens undici's dispatcher for one origin, through a tunnel when there is a proxy for it (RFC 9110 §9.3.6). Nothing of a
 * request is written before the tunnel, and TLS within it, stand. Throws {@link ConnectionOptionsError}.
 */
export function openDispatcher(origin: URL, options: DispatcherOptions): Dispatcher {
  const { connections, pipelining, connectTimeoutMs } = options;
  const tls = trust(options);
  // The caller has a deadline for the whole exchange.
  const timeouts = { headersTimeout: 0, bodyTimeout: 0 };
  const proxy = findProxy(origin, options);
  if (proxy === undefined) {
    const connect = { ...tls, timeout: connectTimeoutMs };
    return new Pool(origin.origin, { connections, pipelining, connect, ...timeouts });
  }
  return new ProxyAgent({
    uri: proxy.href,
    connections,
    pipelining,
    requestTls: { ...tls, timeout: connectTimeoutMs },
    proxyTls: { ...tls, timeout: connectTimeoutMs },
    ...timeouts,
  });
}
