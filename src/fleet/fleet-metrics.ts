import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { wait } from "../model/wait.ts";
import type { FleetStore } from "./fleet-store.ts";
import { fleetStatuses, type RunStatus, viewFleet } from "./fleet-view.ts";

/** How long to wait for the database, milliseconds. */
const readMs = 5_000;

/** Metrics of a worker for Prometheus. */
export type FleetMetrics = ReturnType<typeof makeFleetMetrics>;

/** Makes the metrics. No label names a workspace, for that there is `fleet status`; the fleet is read for each request. */
export function makeFleetMetrics(store: FleetStore) {
  const registry = new Registry();
  const registers = [registry];
  const ofFleet = new Registry();
  const workspaces = new Gauge({
    name: "draftsync_fleet_workspaces",
    help: "Workspaces of the fleet, by status.",
    labelNames: ["status"],
    registers: [ofFleet],
  });
  const lagMax = new Gauge({
    name: "draftsync_fleet_lag_max_seconds",
    help: "How long the workspace has been due that waits longest.",
    registers: [ofFleet],
  });
  const lag = new Histogram({
    name: "draftsync_fleet_lag_seconds",
    help: "How long after they were due runs of this worker began.",
    buckets: [0.1, 0.5, 1, 2, 5, 15, 60, 300, 900],
    registers,
  });
  const runs = new Counter({
    name: "draftsync_fleet_runs_total",
    help: "Runs of this worker that ended, by status.",
    labelNames: ["status"],
    registers,
  });
  const took = new Histogram({
    name: "draftsync_fleet_run_duration_seconds",
    help: "How long runs of this worker took.",
    buckets: [1, 2, 5, 15, 60, 300, 900, 3600],
    registers,
  });
  let sweptAt: number | undefined;
  return {
    started: (lagMs: number) => lag.observe(lagMs / 1000),
    ended: (status: RunStatus, ms: number) => {
      runs.inc({ status });
      took.observe(ms / 1000);
    },
    /** Records that the tables were read and the queue was filled. */
    swept: () => {
      sweptAt = Date.now();
    },
    /** Epoch milliseconds; `undefined` before the first sweep. */
    sweptAt: () => sweptAt,
    /** The text format of Prometheus. Unknown figures are absent, not 0. */
    text: async () => {
      const read = await Promise.race([store.list().catch(() => undefined), wait(readMs)]);
      if (typeof read !== "object") return registry.metrics();
      const { workspaces: rows, counts } = viewFleet(read, new Map());
      for (const status of fleetStatuses) workspaces.set({ status }, counts[status] ?? 0);
      lagMax.set(rows.reduce((most, { late_ms = 0 }) => Math.max(most, late_ms), 0) / 1000);
      return `${await registry.metrics()}\n${await ofFleet.metrics()}`;
    },
  };
}
