import Database from "libsql";
import { applyPlan } from "../../../src/apply/apply-plan.ts";
import { resolutionOfAll } from "../../../src/apply/resolution.ts";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import { loadManifests } from "../../../src/manifest/load-manifests.ts";
import type { Plan } from "../../../src/model/plan.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { waitingDrafts } from "../../../src/model/waiting.ts";
import { buildPlan } from "../../../src/plan/build-plan.ts";
import { openService } from "../../../src/service/open-service.ts";
import { serviceProfileSchema } from "../../../src/service/profile.ts";
import { complete } from "../../support/complete.ts";
import { forgetfulTracker } from "../../support/tracker.ts";
import { key, type Life } from "./crash-world.ts";
import { withLedger } from "./ledger-location.ts";
import type { Survivor } from "./survive.ts";

const rate = { limit: 1000, windowMs: 1000 };

function profileFor(url: string) {
  return serviceProfileSchema.parse({
    settle_delay: "1ms",
    upload_poll_min: "1ms",
    upload_poll_max: "1ms",
    storage: { endpoint: url },
  });
}

/** Connections of killed processes: SQLite rolls back their open transactions. */
const dead = new WeakSet<object>();
const living = new Set<Database.Database>();
const { exec, prepare } = Database.prototype;
Database.prototype.exec = function (this: Database.Database, text: string) {
  if (dead.has(this)) throw new Error("killed");
  living.add(this);
  return exec.call(this, text);
};
Database.prototype.prepare = new Proxy(prepare, {
  apply(target, database, args: [string]) {
    if (dead.has(database)) throw new Error("killed");
    return Reflect.apply(target, database, args);
  },
});

/**
 * The engine in this process. {@link EngineRun.kill} leaves the same state as a SIGKILL: at the server, the bytes that
 * passed the proxy; on the disk, the transactions whose `commit` ran, because SQLite's calls are synchronous and
 * cannot be interrupted. No later statement runs on the same connection, and no later byte passes.
 */
export interface EngineRun {
  /** Does not reject for errors after the kill. */
  readonly ended: Promise<unknown>;
  kill(): void;
}

/** Starts an apply. */
export function startEngine(life: Life): EngineRun {
  const stop = new AbortController();
  const killed = withResolvers();
  const before = new Set(living);
  const ended = withLedger(life.ledger, (ledger) => applyOnce(life, ledger, stop.signal));
  return {
    ended: Promise.race([ended, killed.promise]),
    kill() {
      for (const database of living) {
        if (before.has(database)) continue;
        if (database.inTransaction) exec.call(database, "rollback");
        dead.add(database);
        living.delete(database);
      }
      ended.catch(() => {});
      stop.abort();
      killed.resolve();
    },
  };
}

function withResolvers() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

async function planFor(life: Life, ledger: StateStore): Promise<Plan> {
  const patterns = ["manifests/*.yaml"];
  const loaded = await loadManifests({ root: life.folder, patterns, sources: "hash" });
  const { desired, diagnostics } = complete(loaded);
  const recorded = await ledger.load();
  const profile = profileFor(life.url);
  return buildPlan({
    workspace: "crash",
    serviceOrigin: life.url,
    desired,
    recorded,
    rate,
    profile,
    diagnostics,
  });
}

async function applyOnce(life: Life, ledger: StateStore, stop: AbortSignal) {
  const plan = await planFor(life, ledger);
  const profile = profileFor(life.url);
  const options = { baseUrl: life.url, apiKey: key, rate, concurrency: 1, timeoutMs: 5000, profile };
  const emit = () => {};
  const interrupts = { drain: stop, abortInFlight: stop };
  const service = openService({ ...options, clock: systemClock, emit, root: life.folder, interrupts });
  try {
    const run = { plan, ledger, service, storage: service.storage, clock: systemClock, emit, signal: stop };
    const outcomes = forgetfulTracker;
    const { totals } = await applyPlan({
      ...run,
      outcomes,
      settleDelayMs: profile.settle_delay,
      concurrency: 1,
      command: "apply",
    });
    if (totals.in_doubt > 0) return "in-doubt";
    return waitingDrafts(plan).length > 0 ? "waits" : "done";
  } finally {
    await service.close();
  }
}

/** The engine, for the runs after the kill. */
export const engine: Survivor = {
  sharesBound: false,
  apply: (life) => withLedger(life.ledger, (ledger) => applyOnce(life, ledger, new AbortController().signal)),
  resolve: (life, address, productId) =>
    withLedger(life.ledger, async (ledger) => {
      const resolution =
        productId === undefined ? ({ type: "not_done" } as const) : ({ type: "product", productId } as const);
      const recorded = await ledger.load();
      const operations = recorded.inDoubt.filter((operation) => operation.address === address);
      const effects = resolutionOfAll(operations, resolution, { ...recorded, now: systemClock.now() });
      await ledger.record(effects);
    }),
  pending: (life) =>
    withLedger(life.ledger, async (ledger) =>
      (await planFor(life, ledger)).changes.map(({ action, address }) => `${action} ${address}`),
    ),
};
