import { execFile } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { formatFleetPage } from "../../fleet/fleet-page.ts";
import { viewFleet, viewRun } from "../../fleet/fleet-view.ts";
import { messageOf } from "../../model/errors.ts";
import { untilAborted } from "../../model/on-abort.ts";
import type { Cli } from "../cli.ts";
import type { FleetFlags } from "../commands/fleet.ts";
import { mainFile } from "../package-files.ts";
import { listen, parseListenAddress } from "../reconcile/health-server.ts";
import { loadPageAssets } from "../terminal/page-assets.ts";
import { inFleet, type OpenFleet } from "./open-fleet.ts";

/** Of a run's page: it is made by a process of its own. */
const pageTimeoutMs = 30_000;

/** `draftsync fleet serve` */
export async function serveFleet(
  cli: Cli,
  { fleet: file, listen: address }: FleetFlags & { readonly listen: string },
): Promise<void> {
  await inFleet(cli, { file, retry: { ms: 10_000 } }, async (fleet) => {
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://fleet");
      answer(cli, fleet, { method: request.method ?? "", pathname, response }).catch((error: unknown) =>
        send(response, 500, `${messageOf(error)}\n`),
      );
    });
    const url = await listen(server, parseListenAddress(address));
    cli.terminal.err(`The status page is at ${url}; Ctrl-C stops it.\n`);
    await untilAborted(cli.signal);
    server.close();
    server.closeAllConnections();
  });
}

interface Request {
  readonly method: string;
  readonly pathname: string;
  readonly response: ServerResponse;
}

async function answer(cli: Cli, fleet: OpenFleet, { method, pathname, response }: Request): Promise<void> {
  if (method !== "GET" && method !== "HEAD") return send(response, 405, "only GET and HEAD\n");
  if (pathname === "/healthz") return send(response, 200, "ok\n");
  if (pathname === "/") {
    const view = viewFleet(await fleet.store.list(), await fleet.store.lastRuns());
    const page = formatFleetPage(view, await loadPageAssets(), (name) => `runs/${encodeURIComponent(name)}`);
    return send(response, 200, page, "text/html; charset=utf-8");
  }
  const [, encoded] = /^\/runs\/([^/]+)$/.exec(pathname) ?? [];
  const name = encoded === undefined ? undefined : decode(encoded);
  const found = (await fleet.store.list()).workspaces.find((each) => each.name === name);
  if (found === undefined) return send(response, 404, "not found; the page is at /\n");
  const [run] = await fleet.store.runs(found.name, 1);
  const runId = run === undefined ? undefined : viewRun(run).run_id;
  if (runId === undefined) return send(response, 404, "its last run recorded nothing; the page is at /\n");
  const config = resolve(fleet.config.root, found.config);
  const args = ["history", "--config", config, "--run", runId, "--html"];
  const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(mainFile), ...args], {
    env: cli.env,
    timeout: pageTimeoutMs,
    maxBuffer: 256 * 1024 * 1024,
  });
  send(response, 200, stdout, "text/html; charset=utf-8");
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function send(
  response: ServerResponse,
  status: number,
  text: string,
  type = "text/plain; charset=utf-8",
): void {
  if (response.headersSent) return;
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}
