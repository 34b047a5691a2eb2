import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf } from "../../model/errors.ts";
import { CliError } from "../runtime/cli-error.ts";

/** Where the server listens. */
export interface ListenAddress {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

/** What the server reports. */
export interface Health {
  /** Whether runs succeed as often as they should, and since when not. */
  readiness(): { readonly ready: boolean; readonly text: string };
  /** In the text format of Prometheus. */
  metrics(): Promise<string>;
}

/** A server that listens. */
export interface HealthServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Reads `127.0.0.1:9090`, `[::1]:9090` or `:9090`, which is every address of the machine. Throws {@link CliError}. */
export function parseListenAddress(text: string): ListenAddress {
  const [, host = "", digits = ""] = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]*):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== "" && port <= 65_535) {
    return { host: host === "" ? "::" : host.replace(/^\[|\]$/g, ""), port };
  }
  throw new CliError(`--listen must be an address and a port, not "${text}"`, {
    code: "invalid-flag",
    hint: "Use --listen 127.0.0.1:9090, or :9090 for all addresses of this machine.",
  });
}

/**
 * Serves `/healthz` (the process works), `/readyz` (runs succeed) and `/metrics`, and nothing else. Throws
 * {@link CliError} `listen-failed`.
 */
export async function startHealthServer(
  { host, port }: ListenAddress,
  health: Health,
): Promise<HealthServer> {
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000, keepAliveTimeout: 5_000 },
    (request, response) => {
      const [path = ""] = (request.url ?? "").split("?");
      void answer(path, { method: request.method ?? "", health, response });
    },
  );
  return {
    url: await listen(server, { host, port }),
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

/** Has a server listen; resolves with its address. Throws {@link CliError} `listen-failed`. */
export async function listen(server: Server, { host, port }: ListenAddress): Promise<string> {
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(port, host, () => listening());
  }).catch((error: unknown) => {
    throw new CliError(`cannot listen on ${host}:${port}: ${messageOf(error)}`, {
      code: "listen-failed",
      hint: "Choose an address of this machine and a free port with --listen.",
      cause: error,
    });
  });
  const address = server.address();
  const taken = isAddress(address) ? address.port : port;
  return `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}

interface Answering {
  readonly method: string;
  readonly health: Health;
  readonly response: ServerResponse;
}

async function answer(path: string, { method, health, response }: Answering): Promise<void> {
  const send = (status: number, text: string, type = "text/plain; charset=utf-8") => {
    response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
    response.end(method === "HEAD" ? undefined : text);
  };
  if (method !== "GET" && method !== "HEAD") return send(405, "only GET and HEAD\n");
  switch (path) {
    case "/healthz":
      return send(200, "ok\n");
    case "/readyz": {
      const { ready, text } = health.readiness();
      return send(ready ? 200 : 503, `${text}\n`);
    }
    case "/metrics":
      return send(200, await health.metrics(), "text/plain; version=0.0.4; charset=utf-8");
    default:
      return send(404, "not found; try /healthz, /readyz or /metrics\n");
  }
}
