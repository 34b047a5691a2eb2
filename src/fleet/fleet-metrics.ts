import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { wait } from "../model/wait.ts";
import { fleetStatuses, type RunStatus } from "./fleet-status.ts";
import type { FleetStore } from "./fleet-store.ts";
import { viewFleet } from "./fleet-view.ts";

/** Metrics of a worker for Prometheus. No label names a workspace: `fleet status` does. */
export interface FleetMetrics {
  /** A run began so many milliseconds after it was due. */
  began(lagMs: number): void;
  ended(status: RunStatus, ms: number): void;
  /** The tables were read and the queue filled up. */
  swept(): void;
  /** Epoch milliseconds; absent before the first. */
  readonly sweptAt: number | undefined;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
}

/** How long the database is waited for, milliseconds. */
const readMs = 5_000;

/** Makes the metrics; the figures of the whole fleet are read when they are asked for. */
export function makeFleetMetrics(store: FleetStore): FleetMetrics {
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
    began: (lagMs) => lag.observe(lagMs / 1000),
    ended: (status, ms) => {
      runs.inc({ status });
      took.observe(ms / 1000);
    },
    swept: () => {
      sweptAt = Date.now();
    },
    get sweptAt() {
      return sweptAt;
    },
    text: async () => {
      const read = await Promise.race([store.list().catch(() => undefined), wait(readMs)]);
      // What is not known is absent, not 0.
      if (typeof read !== "object") return registry.metrics();
      const { workspaces: rows, counts } = viewFleet(read, new Map());
      for (const status of fleetStatuses) workspaces.set({ status }, counts[status] ?? 0);
      lagMax.set(rows.reduce((most, { late_ms = 0 }) => Math.max(most, late_ms), 0) / 1000);
      return `${await registry.metrics()}\n${await ofFleet.metrics()}`;
    },
  };
}
