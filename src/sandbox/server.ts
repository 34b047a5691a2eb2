import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { performance } from "node:perf_hooks";
import { getRequestListener } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { addDraftPaths } from "./drafts.ts";
import type { Env, SandboxContext } from "./env.ts";
import { ApiError, apiError, renderApiError, SandboxError } from "./errors.ts";
import { makeFaultGate, sendPastApp } from "./faults/gate.ts";
import { hasKey, makeGate, makeRateGate } from "./gate.ts";
import { compileOptions, type SandboxOptions, type Settings } from "./options.ts";
import { addProductPaths } from "./products.ts";
import { openRequestLog, type RequestLog, startEntry } from "./request-log.ts";
import { BrokenOff } from "./requests.ts";
import { makeControl, type SandboxControl } from "./state.ts";
import { openBlobs } from "./storage/blobs.ts";
import { accessKeyOf, isStorageRequest, makeStorage } from "./storage/storage.ts";
import { openStore } from "./store.ts";
import { addUploadPaths } from "./uploads.ts";

export { SandboxError } from "./errors.ts";
export { type FaultRules, FaultRulesSchema } from "./faults/rules.ts";
export { type Behavior, BehaviorSchema, type SandboxOptions } from "./options.ts";
export type { LoggedFault, RequestLogEntry } from "./request-log.ts";
export type { SandboxControl, SandboxState } from "./state.ts";

/** A running sandbox; its control is that of the first account. */
export interface Sandbox extends SandboxControl {
  /** The control of each account; one when `accounts` was not given. */
  readonly accounts: readonly SandboxControl[];
  /** The base address: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  /** Stops the server, closes all connections and files. May be called again. */
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** Long, so that no idle connection is closed while a client sends a request. */
const KEEP_ALIVE_MS = 120_000;

/**
 * Starts the service of the interface document as a local server, with its own S3-compatible storage.
 *
 * @throws SandboxError `invalid-option`, `log-unusable`, `store-unusable`, `port-in-use`, `listen-failed`.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const settings = compileOptions(options);
  const log = openRequestLog(settings.log);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const accounts = openAccounts(settings, { log, arrived: 0 }, closing.signal);
  const [first] = accounts;
  const { server, settled } = makeServer((incoming) => accountOf(incoming, accounts).app);
  const release = () => {
    log.close();
    for (const { store } of accounts) store.close();
  };
  let port: number;
  try {
    port = await listen(server, settings.port);
  } catch (error) {
    release();
    throw error;
  }
  let closed: Promise<void> | undefined;
  return {
    ...makeControl(first),
    accounts: accounts.map(makeControl),
    url: `http://${HOST}:${port}`,
    port,
    close() {
      closing.abort();
      closed ??= stop(server).then(settled).then(release);
      return closed;
    },
  };
}

interface Account extends SandboxContext {
  readonly app: Hono<Env>;
}

/** Each has its own store: `db`, or `<db>-<number>` with several accounts. */
function openAccounts(
  settings: Settings,
  logging: Logging,
  closing: AbortSignal,
): readonly [Account, ...Account[]] {
  const { key, db, accounts } = settings;
  const open = (number?: number): Account => {
    const suffix = number === undefined ? "" : `-${number}`;
    const file = db === undefined ? undefined : `${db}${suffix}`;
    const own = { ...settings, key: `${key}${suffix}` };
    const context = { settings: own, store: openStore(file), blobs: openBlobs(file), closing };
    return { ...context, app: makeApp(context, logRequests(logging, number)) };
  };
  if (accounts === undefined) return [open()];
  return [open(1), ...Array.from({ length: accounts - 1 }, (_, index) => open(index + 2))];
}

/** The account of a request, by its key or its storage session; the first when it has neither. */
function accountOf({ headers }: IncomingMessage, accounts: readonly [Account, ...Account[]]): Account {
  const [first] = accounts;
  if (accounts.length === 1) return first;
  const accessKey = accessKeyOf(headers);
  const isMeant = ({ settings, store }: Account) =>
    accessKey === undefined
      ? hasKey(headers.authorization, settings.key)
      : store.sessions.find(accessKey) !== undefined;
  return accounts.find(isMeant) ?? first;
}

/** A server, and a way to wait until no handler is running. */
function makeServer(appFor: (incoming: IncomingMessage) => Hono<Env>) {
  const running = new Set<Promise<void>>();
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, outgoing) => {
    const app = appFor(incoming);
    const listener = getRequestListener((request) => app.fetch(request, { incoming, outgoing }), {
      autoCleanupIncoming: false,
      overrideGlobalObjects: false,
    });
    const handled = listener(incoming, outgoing).finally(() => running.delete(handled));
    running.add(handled);
  });
  return { server, settled: () => Promise.allSettled(running) };
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => reject(listenFailure(port, cause)));
    server.listen(port, HOST, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has a port.");
  return address.port;
}

function listenFailure(port: number, cause: NodeJS.ErrnoException): SandboxError {
  const hint = "Name another port, or 0 for any free one.";
  if (cause.code === "EADDRINUSE") {
    const message = `Port ${port} of ${HOST} is in use by another process.`;
    return new SandboxError({ code: "port-in-use", message, hint, cause });
  }
  const message = `The sandbox cannot listen on port ${port} of ${HOST}: ${cause.message}`;
  return new SandboxError({ code: "listen-failed", message, hint, cause });
}

async function stop(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/**
 * The whole server of an account, without a socket:
 *
 *     request  ── entry started ── rate limit (/api) ── fault ──┬── storage: S3 in path style below the bucket
 *                                                               └── /api: key, version ── routes
 *     response ── entry logged ── first byte
 */
function makeApp(sandbox: SandboxContext, logged: MiddlewareHandler<Env>): Hono<Env> {
  const { rate, behavior, faults } = sandbox.settings;
  const app = new Hono<Env>();
  app.use(logged);
  if (rate !== undefined) app.use("/api/*", makeRateGate(rate));
  if (faults !== undefined) app.use(makeFaultGate(sandbox, faults));
  app.use(makeStorage(sandbox));
  app.use("/api/*", makeGate(sandbox.settings));
  addUploadPaths(app, sandbox);
  addProductPaths(app, sandbox);
  addDraftPaths(app, sandbox);
  app.notFound((c) => {
    const detail = `There is nothing at ${c.get("entry").path}; the paths of the interface begin with /api.`;
    return renderApiError(apiError({ status: 404, code: "no-such-path", detail }), behavior);
  });
  app.onError((error) => {
    if (error instanceof ApiError) return renderApiError(error, behavior);
    const detail = `The sandbox failed: ${error.message}`;
    return renderApiError(apiError({ status: 500, code: "sandbox-failed", detail }), behavior);
  });
  return app;
}

/** The log that all accounts share, and the number of requests so far. */
interface Logging {
  readonly log: RequestLog;
  arrived: number;
}

/** Starts the entry of each request on arrival, and logs it when its response is known and not yet sent. */
function logRequests(logging: Logging, account: number | undefined): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { incoming } = c.env;
    logging.arrived += 1;
    const entry = startEntry(incoming, {
      sequence: logging.arrived,
      ...(account === undefined ? {} : { account }),
      side: isStorageRequest(incoming) ? "storage" : "service",
    });
    c.set("entry", entry);
    await next();
    const sending = c.get("sending");
    if (sending !== undefined) entry.status = sending.status;
    else entry.status = c.error instanceof BrokenOff ? null : c.res.status;
    entry.duration = performance.now() - entry.monotonic;
    logging.log.write(entry);
    await sendPastApp(c);
  };
}
