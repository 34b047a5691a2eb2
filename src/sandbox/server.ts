import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { performance } from "node:perf_hooks";
import { getRequestListener } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { ApiError, apiError, renderApiError } from "./api-error.ts";
import { addDraftPaths } from "./drafts.ts";
import type { Env, SandboxContext } from "./env.ts";
import { makeFaultGate, sendPastApp } from "./faults/gate.ts";
import { hasKey, makeGate, makeRateGate } from "./gate.ts";
import { compileOptions, type SandboxOptions, type Settings } from "./options.ts";
import { addProductPaths } from "./products.ts";
import { BrokenOff } from "./request-body.ts";
import {
  openRequestLog,
  type RequestLog,
  type RequestLogEntry,
  readQuery,
  redactHeaders,
} from "./request-log.ts";
import { SandboxError } from "./sandbox-error.ts";
import { makeControl, type SandboxControl } from "./state.ts";
import { openBlobs } from "./storage/blobs.ts";
import { accessKeyOf, isStorageRequest, makeStorage } from "./storage/routes.ts";
import { openStore } from "./store/store.ts";
import { addUploadPaths } from "./uploads.ts";

export { type Behavior, BehaviorSchema } from "./behavior.ts";
export { type FaultRules, FaultRulesSchema } from "./faults/rules.ts";
export type { SandboxOptions } from "./options.ts";
export type { LoggedFault, RequestLogEntry } from "./request-log.ts";
export { SandboxError } from "./sandbox-error.ts";
export type { SandboxControl, SandboxState } from "./state.ts";

/** A running sandbox; its control is that of the first account. */
export interface Sandbox extends SandboxControl {
  /** The control of each account; one when `accounts` was not given. */
  readonly accounts: readonly SandboxControl[];
  /** The base address: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  /** Ends the server, cutting off what is under way, and closes its files. May be called again. */
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** Long, so that no client's idle connection is closed under a request on its way. */
const KEEP_ALIVE_MS = 120_000;

/**
 * Starts the whole service of the interface document as a local server, with its own S3-compatible storage.
 *
 * @throws SandboxError `invalid-option`, `log-unusable`, `store-unusable`, `port-in-use`, `listen-failed`.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const settings = compileOptions(options);
  const log = openRequestLog(options.log);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const accounts = openAccounts(settings, { db: options.db, closing: closing.signal });
  const sequence = { last: 0 };
  const apps = accounts.map((account, index) => {
    const number = settings.accounts === undefined ? {} : { account: index + 1 };
    return { account, app: makeApp(account, logRequests(log, { sequence, number })) };
  });
  const [first] = accounts;
  const { server, settled } = makeServer((incoming) => accountOf(incoming, apps).app);
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

type Accounts = readonly [SandboxContext, ...SandboxContext[]];

/** Each with a store of its own: `db`, or of several accounts `<db>-<number>`. */
function openAccounts(
  settings: Settings,
  { db, closing }: { readonly db: string | undefined; readonly closing: AbortSignal },
): Accounts {
  const open = (own: Settings, file: string | undefined): SandboxContext => ({
    settings: own,
    store: openStore(file),
    blobs: openBlobs(file),
    closing,
  });
  if (settings.accounts === undefined) return [open(settings, db)];
  const numbered = (number: number) =>
    open({ ...settings, key: `${settings.key}-${number}` }, db === undefined ? undefined : `${db}-${number}`);
  return [numbered(1), ...Array.from({ length: settings.accounts - 1 }, (_, index) => numbered(index + 2))];
}

/** The account that a request is for, by its key or its storage session; the first when it has neither. */
function accountOf<T extends { readonly account: SandboxContext }>(
  { headers }: IncomingMessage,
  all: readonly T[],
): T {
  const [first] = all;
  if (first === undefined) throw new Error("A sandbox has an account.");
  const accessKey = accessKeyOf(headers);
  const isMeant = ({ account: { settings, store } }: T) =>
    accessKey === undefined
      ? hasKey(headers.authorization, settings.key)
      : store.sessions.find(accessKey) !== undefined;
  return all.length === 1 ? first : (all.find(isMeant) ?? first);
}

/** A server over the app that a request is for, and a way to wait until no handler is at work any more. */
function makeServer(appFor: (incoming: IncomingMessage) => ReturnType<typeof makeApp>) {
  const underWay = new Set<Promise<void>>();
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, outgoing) => {
    const app = appFor(incoming);
    const listener = getRequestListener((request) => app.fetch(request, { incoming, outgoing }), {
      autoCleanupIncoming: false,
      overrideGlobalObjects: false,
    });
    const handled = listener(incoming, outgoing).finally(() => underWay.delete(handled));
    underWay.add(handled);
  });
  return { server, settled: () => Promise.allSettled(underWay) };
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
  if (cause.code === "EADDRINUSE") {
    return new SandboxError({
      code: "port-in-use",
      message: `Port ${port} of ${HOST} is in use by another process.`,
      hint: "Name another port, or 0 for any free one.",
      cause,
    });
  }
  return new SandboxError({
    code: "listen-failed",
    message: `The sandbox cannot listen on port ${port} of ${HOST}: ${cause.message}`,
    hint: "Name another port, or 0 for any free one.",
    cause,
  });
}

async function stop(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/**
 * The whole server, without a socket:
 *
 *     request ── entry noted ── rate bound (/api) ── fault ──┬── storage: S3 in path style below the bucket
 *                                                              └── /api: key, version ── routes
 *     answer  ── entry logged ── first byte
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
  app.notFound((c) =>
    renderApiError(
      apiError({
        status: 404,
        code: "no-such-path",
        detail: `There is nothing at ${c.get("entry").path}; the paths of the interface begin with /api.`,
      }),
      behavior,
    ),
  );
  app.onError((error) => {
    const shown =
      error instanceof ApiError
        ? error
        : apiError({ status: 500, code: "sandbox-failed", detail: `The sandbox failed: ${error.message}` });
    return renderApiError(shown, behavior);
  });
  return app;
}

/** Notes each request as it comes, and logs it when its answer is known and not yet sent. */
function logRequests(
  log: RequestLog,
  {
    sequence,
    number,
  }: { readonly sequence: { last: number }; readonly number: Pick<RequestLogEntry, "account"> },
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { incoming } = c.env;
    const target = incoming.url ?? "/";
    const monotonic = performance.now();
    sequence.last += 1;
    c.set("entry", {
      sequence: sequence.last,
      time: Date.now(),
      monotonic,
      ...number,
      side: isStorageRequest(incoming) ? "storage" : "service",
      method: incoming.method ?? "",
      path: target.split("?", 1)[0] ?? "",
      query: readQuery(target),
      headers: redactHeaders(incoming.headers),
      body: null,
      status: null,
      duration: 0,
    });
    await next();
    const entry = c.get("entry");
    const sending = c.get("sending");
    if (sending !== undefined) entry.status = sending.status;
    else entry.status = c.error instanceof BrokenOff ? null : c.res.status;
    entry.duration = performance.now() - monotonic;
    log.write(entry);
    await sendPastApp(c);
  };
}
