import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { makeFleetMetrics } from "../../fleet/fleet-metrics.ts";
import { runWorker } from "../../fleet/fleet-worker.ts";
import { makeProcessMetrics } from "../../report/metrics.ts";
import type { Cli } from "../cli.ts";
import type { FleetFlags } from "../commands/fleet.ts";
import { mainFile } from "../package-files.ts";
import { parseListenAddress, startHealthServer } from "../reconcile/health-server.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { reportError } from "../terminal/report-error.ts";
import { type FleetConfig, loadFleet } from "./fleet-config.ts";
import { notifyOfFleet } from "./notify.ts";
import { inFleet } from "./open-fleet.ts";

/** How long a worker waits for its database before a run of it counts as lost, milliseconds. */
const retryMs = 120_000;
/** A worker that could not read its tables for so long is not ready, milliseconds. */
const readyMs = 180_000;

/** `draftsync fleet worker` */
export async function runFleetWorker(
  cli: Cli,
  { fleet: file, slots, listen }: FleetFlags & { readonly slots?: number; readonly listen?: string },
): Promise<void> {
  const { terminal, signal, interrupts, env } = cli;
  const address = listen === undefined ? undefined : parseListenAddress(listen);
  // Its runs end within 7 s of the signal; then their ends are recorded.
  interrupts.allowMore(10_000);
  let isDatabaseAway = false;
  const onAway = (isAway: boolean) => {
    isDatabaseAway = isAway;
    return isAway
      ? terminal.log({
          level: "warning",
          text: "warning: the fleet's database does not answer; waiting for it\n",
          code: "fleet-database-unreachable",
        })
      : terminal.err("the fleet's database answers again\n");
  };
  const retry = { ms: retryMs, onAway, signal };
  await inFleet(cli, { file, migrates: true, retry }, async ({ config, store, queue }) => {
    const metrics = makeFleetMetrics(store);
    const processMetrics = makeProcessMetrics();
    const server =
      address === undefined
        ? undefined
        : await startHealthServer(address, {
            readiness: () => {
              const isSwept = metrics.sweptAt !== undefined && Date.now() - metrics.sweptAt < readyMs;
              const isReady = isSwept && !isDatabaseAway;
              return {
                ready: isReady,
                text: isReady ? "ok" : "not ready: the fleet's database does not answer",
              };
            },
            metrics: async () => `${await metrics.text()}\n${await processMetrics()}`,
          });
    if (server !== undefined) terminal.err(`listening on ${server.url}\n`);
    const name = `${hostname()}:${process.pid}`;
    const count = slots ?? config.slots;
    terminal.err(`worker ${name}: ${count} slots; Ctrl-C stops it\n`);
    let current = config;
    const settings = async (): Promise<FleetConfig> => {
      current = await loadFleet({ cwd: cli.cwd, env, file });
      return current;
    };
    try {
      await runWorker({
        store,
        queue: await queue(),
        name,
        slots: count,
        settings,
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
