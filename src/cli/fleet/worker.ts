import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { makeFleetMetrics } from "../../fleet/fleet-metrics.ts";
import type { FleetStore } from "../../fleet/fleet-store.ts";
import { statusWords } from "../../fleet/fleet-text.ts";
import { viewFleet } from "../../fleet/fleet-view.ts";
import { runWorker } from "../../fleet/fleet-worker.ts";
import { makeProcessMetrics } from "../../report/metrics.ts";
import type { Cli } from "../cli.ts";
import type { FleetFlags } from "../commands/fleet.ts";
import { mainFile } from "../package-files.ts";
import { parseListenAddress, startHealthServer } from "../reconcile/health-server.ts";
import { loadWebhook, postToWebhook } from "../reconcile/webhook.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { reportError } from "../terminal/report-error.ts";
import { type FleetConfig, loadFleet } from "./fleet-config.ts";
import { inFleet } from "./open-fleet.ts";

/** How long a worker waits for its database before a run counts as lost, milliseconds. */
const retryMs = 120_000;
/** A worker that could not read its tables for this long is not ready, milliseconds. */
const readyMs = 180_000;
/** Workspaces named in one notification; the rest is counted. */
const maxNamed = 20;

/** `draftsync fleet worker` */
export async function runFleetWorker(
  cli: Cli,
  { fleet: file, slots, listen }: FleetFlags & { readonly slots?: number; readonly listen?: string },
): Promise<void> {
  const { cwd, env, terminal, signal, interrupts } = cli;
  const address = listen === undefined ? undefined : parseListenAddress(listen);
  // Its runs end within 7 s of the signal; then their ends are recorded.
  interrupts.allowMore(10_000);
  let isDatabaseAway = false;
  const onAway = (isAway: boolean) => {
    isDatabaseAway = isAway;
    if (!isAway) return terminal.err("the fleet's database answers again\n");
    const text = "warning: the fleet's database does not answer; waiting for it\n";
    terminal.log({ level: "warning", text, code: "fleet-database-unreachable" });
  };
  const retry = { ms: retryMs, onAway, signal };
  await inFleet(cli, { file, migrates: true, retry }, async ({ config, store, queue }) => {
    const metrics = makeFleetMetrics(store);
    const processMetrics = makeProcessMetrics();
    const readiness = () => {
      const isSwept = Date.now() - (metrics.sweptAt() ?? 0) < readyMs;
      const ready = isSwept && !isDatabaseAway;
      return { ready, text: ready ? "ok" : "not ready: the fleet's database does not answer" };
    };
    const server =
      address === undefined
        ? undefined
        : await startHealthServer(address, {
            readiness,
            metrics: async () => `${await metrics.text()}\n${await processMetrics()}`,
          });
    if (server !== undefined) terminal.err(`listening on ${server.url}\n`);
    const name = `${hostname()}:${process.pid}`;
    const count = slots ?? config.slots;
    terminal.err(`worker ${name}: ${count} slots; Ctrl-C stops it\n`);
    let current = config;
    try {
      await runWorker({
        store,
        queue: await queue(),
        name,
        slots: count,
        settings: async () => {
          current = await loadFleet({ cwd, env, file });
          return current;
        },
        env,
        main: fileURLToPath(mainFile),
        metrics,
        log: (entry) => void terminal.log(entry),
        report: (error) => void reportError(error, terminal),
        notify: () => notifyOfFleet(cli, current, store),
        signal,
      });
    } finally {
      await server?.close();
    }
  });
  cli.end(interrupts.abortInFlight.aborted ? exitCode.interrupted : exitCode.done);
}

/**
 * Notifies the webhook once of all workspaces whose status changed; `ok` is sent only after trouble. The database gives each
 * change to one worker. A notification that fails is a warning, and the next sweep sends it again.
 */
async function notifyOfFleet(
  { env, terminal, interrupts }: Cli,
  { notifyUrlFile: urlFile }: FleetConfig,
  store: FleetStore,
): Promise<void> {
  const url = await loadWebhook(urlFile === undefined ? {} : { urlFile }, env);
  if (url === undefined) return;
  const { workspaces } = viewFleet(await store.list(), await store.lastRuns());
  const changed = [];
  for (const { name, status, last_run } of workspaces) {
    const change = await store.exchangeNotice(name, status);
    if (change === undefined || (change.former === null && !isTrouble(status))) continue;
    changed.push({ name, status, former: change.former, reason: last_run?.error?.code });
  }
  const changes = changed.filter(({ status, former }) => isTrouble(status) || isTrouble(former));
  if (changes.length === 0) return;
  const named = changes.slice(0, maxNamed).map(({ name, status }) => `${name} is ${statusWords(status)}`);
  const more = changes.length > maxNamed ? ` and ${changes.length - maxNamed} more` : "";
  const notification = {
    text: `draftsync fleet: ${named.join(", ")}${more}. \`draftsync fleet status\` has the details.`,
    format_version: 1,
    changes: changes.map(({ name, status, former, reason }) => ({
      workspace: name,
      status,
      ...(former === null ? {} : { former_status: former }),
      ...(reason === undefined ? {} : { reason }),
    })),
  };
  const failure = await postToWebhook(url, { notification, signal: interrupts.abortInFlight });
  if (failure === undefined) return;
  terminal.log({ level: "warning", text: `warning: ${failure}\n`, code: "webhook-failed" });
  for (const { name, former } of changed) await store.exchangeNotice(name, former ?? "none");
}

function isTrouble(status: string | null): boolean {
  return status === "in_doubt" || status === "failing" || status === "behind";
}
