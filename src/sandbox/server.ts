import { setMaxListeners } from "node:events";
import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { makeApp } from "./app.ts";
import { compileOptions, type SandboxOptions } from "./options.ts";
import { openRequestLog } from "./request-log.ts";
import { SandboxError } from "./sandbox-error.ts";
import { makeControl, type SandboxControl } from "./state.ts";
import { openBlobs } from "./storage/blobs.ts";
import { openStore } from "./store/store.ts";

export { type Behavior, BehaviorSchema } from "./behavior.ts";
export { type FaultRules, FaultRulesSchema } from "./faults/rules.ts";
export type { SandboxOptions } from "./options.ts";
export type { LoggedFault, RequestLogEntry } from "./request-log.ts";
export { SandboxError } from "./sandbox-error.ts";
export type { SandboxControl, SandboxState } from "./state.ts";

/** A running sandbox. */
export interface Sandbox extends SandboxControl {
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
  const store = openStore(options.db);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const sandbox = { settings, store, blobs: openBlobs(options.db), closing: closing.signal };
  const { server, settled } = makeServer(makeApp(sandbox, log));
  const release = () => {
    log.close();
    store.close();
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
    ...makeControl(sandbox),
    url: `http://${HOST}:${port}`,
    port,
    close() {
      closing.abort();
      closed ??= stop(server).then(settled).then(release);
      return closed;
    },
  };
}

/** A server over the app, and a way to wait until no handler is at work any more. */
function makeServer(app: ReturnType<typeof makeApp>) {
  const underWay = new Set<Promise<void>>();
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, outgoing) => {
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
