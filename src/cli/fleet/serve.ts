import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { formatFleetPage } from "../../fleet/fleet-page.ts";
import { viewFleet, viewRun } from "../../fleet/fleet-view.ts";
import { messageOf } from "../../model/errors.ts";
import { untilAborted } from "../../model/wait.ts";
import type { Cli } from "../cli.ts";
import type { FleetFlags } from "../commands/fleet.ts";
import { mainFile } from "../package-files.ts";
import { listen, parseListenAddress } from "../reconcile/health-server.ts";
import { loadPageAssets } from "../terminal/page-assets.ts";
import { inFleet, type OpenFleet } from "./open-fleet.ts";

/** For the page of a run, which another process makes. */
const pageTimeoutMs = 30_000;

/** `draftsync fleet serve` */
export async function serveFleet(
  { cwd, env, terminal, signal }: Cli,
  { fleet: file, listen: address }: FleetFlags & { readonly listen: string },
): Promise<void> {
  await inFleet({ cwd, env }, { file, retry: { ms: 10_000 } }, async (fleet) => {
    const server = createServer(getRequestListener(makeApp(fleet, env).fetch));
    const url = await listen(server, parseListenAddress(address));
    terminal.err(`The status page is at ${url}; Ctrl-C stops it.\n`);
    await untilAborted(signal);
    server.close();
    server.closeAllConnections();
  });
}

function makeApp({ config, store }: OpenFleet, env: NodeJS.ProcessEnv): Hono {
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
    c.header("x-content-type-options", "nosniff");
  });
  app.get("/healthz", (c) => c.text("ok\n"));
  app.get("/", async (c) => {
    const view = viewFleet(await store.list(), await store.lastRuns());
    const assets = await loadPageAssets();
    return c.html(formatFleetPage(view, assets, (name) => `runs/${encodeURIComponent(name)}`));
  });
  app.get("/runs/:name", async (c) => {
    const { workspaces } = await store.list();
    const found = workspaces.find(({ name }) => name === c.req.param("name"));
    if (found === undefined) return c.notFound();
    const [run] = await store.runs(found.name, 1);
    const runId = run === undefined ? undefined : viewRun(run).run_id;
    if (runId === undefined) return c.text("its last run recorded nothing; the page is at /\n", 404);
    const args = ["history", "--config", resolve(config.root, found.config), "--run", runId, "--html"];
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(mainFile), ...args], {
      env,
      timeout: pageTimeoutMs,
      maxBuffer: 256 * 1024 * 1024,
    });
    return c.html(stdout);
  });
  app.notFound((c) => c.text("not found; the page is at /\n", 404));
  app.onError((error, c) => c.text(`${messageOf(error)}\n`, 500));
  return app;
}
