import { readFileSync } from "node:fs";
import type { Agent, ClientRequest } from "node:http";
import { isIPv6 } from "node:net";
import type { Duplex } from "node:stream";
import {
  connect,
  createSecureContext,
  rootCertificates,
  type SecureContext,
  type ConnectionOptions as TlsOptions,
} from "node:tls";
import type { buildConnector, Dispatcher, Pool as Pools } from "undici";
import { DraftsyncError, systemCodeOf } from "../model/errors.ts";
import { checkProxy } from "./failures.ts";

/** How connections leave this machine. */
export interface ConnectionOptions {
  /** The proxy for a URL, with user and password if it wants them; none: straight. */
  readonly proxyFor?: ((url: string) => string | undefined) | undefined;
  /** Certificates of authorities (PEM) that are trusted beside the usual ones. */
  readonly authorities?: readonly string[] | undefined;
}

/** With how long a connection may take to be made. */
interface TimedOptions extends ConnectionOptions {
  readonly connectTimeoutMs: number;
}

/** How long a connection may take to be made, of the time for a whole exchange; both in milliseconds. */
export function connectTimeoutOf(timeoutMs: number): number {
  return Math.min(timeoutMs, 10_000);
}

/** Connections cannot be made with such options. */
export class ConnectionOptionsError extends DraftsyncError {
  override readonly name = "ConnectionOptionsError";
}

/** Whether a host name or address is this machine's own. */
export function isLoopback(host: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/**
 * For Node's own client, which object storage uses. A tunnel through a proxy that is not there within `connectTimeoutMs` fails.
 * Throws {@link ConnectionOptionsError}.
 */
export async function openAgent(url: URL, options: TimedOptions): Promise<Agent> {
  const { Agent } = url.protocol === "http:" ? await import("node:http") : await import("node:https");
  const agent = refuseUpgrades(new Agent({ keepAlive: true, ...trust(options), maxSockets: 50 }));
  const proxy = findProxy(url, options);
  if (proxy === undefined) return agent;
  const openTunnel = await loadTunnels(proxy, options);
  return Object.assign(agent, {
    createConnection(target: TlsOptions, done: (error: unknown, socket?: Duplex) => void) {
      const { host = "", port } = target;
      openTunnel(`${isIPv6(host) ? `[${host}]` : host}:${port}`)
        .then((socket) => (url.protocol === "http:" ? socket : connect({ ...target, socket })))
        .then((socket) => done(null, socket), done);
    },
  });
}

/** Loads undici; the result asks a proxy for a tunnel to a host and port (RFC 9110 §9.3.6). */
async function loadTunnels(
  proxy: URL,
  options: TimedOptions,
): Promise<(authority: string) => Promise<Duplex>> {
  const { Client } = await import("undici");
  const { connectTimeoutMs: timeout } = options;
  const { username, password } = proxy;
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const headers = username === "" ? {} : { "Proxy-Authorization": `Basic ${credentials.toString("base64")}` };
  return async (authority) => {
    const client = new Client(proxy.origin, { connect: { ...trust(options), timeout } });
    try {
      const signal = AbortSignal.timeout(timeout);
      const { statusCode, socket } = await client.connect({ path: authority, headers, signal });
      if (statusCode === 200) return socket;
      socket.destroy();
      throw new ConnectionOptionsError(`the proxy refused to connect to ${authority} (${statusCode})`, {
        code: "proxy-refused",
        hint: checkProxy,
      });
    } finally {
      // The tunnel is not its connection any more; after a failure it would make another one.
      void client.destroy();
    }
  };
}

/**
 * Fails a request that is answered with `101 Switching Protocols`. Node's client closes its connection, and ends it neither with
 * a response nor with an error. `addRequest` is how the client gives a request to its agent; Node does not document it.
 */
function refuseUpgrades(agent: Agent): Agent {
  const addRequest: (request: ClientRequest, ...rest: readonly unknown[]) => void = Reflect.get(
    agent,
    "addRequest",
  );
  return Object.assign(agent, {
    addRequest(request: ClientRequest, ...rest: readonly unknown[]) {
      request.once("upgrade", (_response, socket: Duplex) => {
        socket.destroy();
        request.emit("error", new Error("the server switched protocols (101), which was not requested"));
      });
      addRequest.call(agent, request, ...rest);
    },
  });
}

/**
 * Loads undici; the result opens its dispatcher for one origin, with as many requests on one connection, one after the other (0: each
 * has its own). With a proxy, through a tunnel (RFC 9110 §9.3.6): no byte of a request is written before the tunnel, and TLS within
 * it, are established. Both throw {@link ConnectionOptionsError}.
 */
export async function loadDispatcher(
  origin: URL,
  options: TimedOptions & { readonly connections: number },
): Promise<(pipelining: 0 | 1) => Dispatcher> {
  const { Pool, ProxyAgent } = await import("undici");
  const { connections } = options;
  const proxy = findProxy(origin, options);
  const connect = { ...trust(options), timeout: options.connectTimeoutMs };
  // The caller has a deadline for the whole exchange.
  const timeouts = { headersTimeout: 0, bodyTimeout: 0 };
  return (pipelining) => {
    const shared = { connections, pipelining, ...timeouts };
    if (proxy === undefined) return new Pool(origin.origin, { ...shared, connect });
    const factory = (target: string | URL, { connect: open, ...given }: Pools.Options) =>
      new Pool(target, { ...given, ...(typeof open === "function" ? { connect: endWithProxy(open) } : {}) });
    return new ProxyAgent({ ...shared, uri: proxy.href, requestTls: connect, proxyTls: connect, factory });
  };
}

/**
 * Fails a request whose proxy closes the connection instead of opening a tunnel. undici takes that for a connection that was in use,
 * and connects again without a pause until the request's time is up.
 */
function endWithProxy(connect: buildConnector.connector): buildConnector.connector {
  return (options, done) =>
    connect(options, (...ended) => {
      const [error] = ended;
      if (error === null || systemCodeOf(error) !== "UND_ERR_SOCKET") done(...ended);
      else done(new Error(`the proxy closed the connection: ${error.message}`), null);
    });
}

/** Certificates are always checked: NODE_TLS_REJECT_UNAUTHORIZED has no say in it. */
export function trust({ authorities = [] }: ConnectionOptions) {
  if (authorities.length === 0) return { rejectUnauthorized: true };
  return { rejectUnauthorized: true, secureContext: contextFor(authorities) };
}

/** Parsed once, not with each connection: it takes a tenth of a second, in which nothing else happens. */
const contexts = new WeakMap<readonly string[], SecureContext>();

function contextFor(authorities: readonly string[]): SecureContext {
  const known = contexts.get(authorities);
  if (known !== undefined) return known;
  // A list of one's own takes the place of the usual one and of the one in the environment.
  const context = createSecureContext({ ca: [...rootCertificates, ...extraAuthorities(), ...authorities] });
  contexts.set(authorities, context);
  return context;
}

function extraAuthorities(): readonly string[] {
  try {
    return [readFileSync(process.env.NODE_EXTRA_CA_CERTS ?? "", "utf8")];
  } catch {
    // There is none, or it cannot be read: of that Node has warned at its start.
    return [];
  }
}

/** The proxy for an address, if any. Throws {@link ConnectionOptionsError}. */
export function findProxy(origin: URL, { proxyFor }: ConnectionOptions): URL | undefined {
  if (isLoopback(origin.hostname)) return undefined;
  const text = proxyFor?.(origin.href) ?? "";
  if (text === "") return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new ConnectionOptionsError(`the proxy for ${origin.origin} is not an http or https URL`, {
    code: "proxy-invalid",
    hint: "Set HTTPS_PROXY like http://proxy.example.com:3128, or name the host in NO_PROXY.",
  });
}
