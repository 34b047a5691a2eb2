import { join } from "node:path";
import type { ApplyResult } from "../../src/apply/apply-plan.ts";
import { applyPlan } from "../../src/apply/apply-plan.ts";
import type { RunLimits } from "../../src/apply/run-budget.ts";
import type { StateStore } from "../../src/ledger/open-ledger.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { loadManifests } from "../../src/manifest/load-manifests.ts";
import type { Desired } from "../../src/model/desired.ts";
import type { Event } from "../../src/model/event.ts";
import type { Plan } from "../../src/model/plan.ts";
import { systemClock } from "../../src/model/ports.ts";
import { buildPlan } from "../../src/plan/build-plan.ts";
import type { Sandbox, SandboxOptions } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { openService } from "../../src/service/open-service.ts";
import { serviceProfileSchema } from "../../src/service/profile.ts";
import type { Folder } from "./cli.ts";
import { makeFolder } from "./cli.ts";
import { complete } from "./complete.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";
import { startFaultyProxy } from "./faulty-proxy.ts";
import { forgetfulTracker } from "./tracker.ts";

const key = "canary-key-77aa";
/** A short window, because calls are slow for one window after a pause. */
const rate = { limit: 1000, windowMs: 50 };
const usualProfile = { settle_delay: "1ms", upload_poll_min: "5ms", upload_poll_max: "10ms" };

/** The real parts combined: manifests, planner, ledger, client, and the sandbox behind a proxy that injects faults. */
export interface World {
  readonly sandbox: Sandbox;
  readonly proxy: FaultyProxy;
  readonly ledger: StateStore;
  readonly events: readonly Event[];
  /** Writes the manifest `manifests/all.yaml`, and local files. */
  write(manifest: string, files?: Readonly<Record<string, string>>): Promise<void>;
  desired(): Promise<Desired>;
  plan(targets?: readonly string[]): Promise<Plan>;
  /** Plans and applies with a new client. `signal` interrupts it. */
  apply(signal?: AbortSignal, limits?: RunLimits, targets?: readonly string[]): Promise<ApplyResult>;
  /** The outcome of each change of the last apply, as `address: outcome`, sorted. */
  ends(): string[];
  /** Requests since the previous call of this method. */
  requests(): string[];
  close(): Promise<void>;
}

/** Settings of the profile, as in YAML, and of the sandbox. */
export interface WorldSettings {
  readonly profile?: object;
  readonly sandbox?: Partial<SandboxOptions>;
  /** How far the clock of the ledger is ahead of the runner's, milliseconds. */
  readonly ledgerAheadMs?: number;
}

/** Starts an empty world. */
export async function startWorld(settings: WorldSettings = {}): Promise<World> {
  const profile = serviceProfileSchema.parse({ ...usualProfile, ...settings.profile });
  const sandbox = await startSandbox({ key, uploadProcessingMs: 0, ...settings.sandbox });
  const proxy = await startFaultyProxy(sandbox.url);
  const folder: Folder = await makeFolder();
  const { ledgerAheadMs = 0 } = settings;
  const ledger = await openLedger({
    location: join(folder.path, ".draftsync/state.db"),
    clock: { ...systemClock, now: () => systemClock.now() + ledgerAheadMs },
  });
  let events: Event[] = [];
  const load = async () => {
    const loaded = await loadManifests({
      root: folder.path,
      patterns: ["manifests/*.yaml"],
      sources: "hash",
    });
    return complete(loaded);
  };
  const plan = async (targets: readonly string[] = []) => {
    const { desired, diagnostics } = await load();
    const recorded = await ledger.load();
    return buildPlan({
      workspace: "world",
      serviceOrigin: proxy.url,
      desired,
      recorded,
      rate,
      profile,
      diagnostics,
      targets,
    });
  };
  return {
    sandbox,
    proxy,
    ledger,
    get events() {
      return events;
    },
    write: (manifest, files = {}) => folder.write({ "manifests/all.yaml": manifest, ...files }),
    desired: async () => (await load()).desired,
    plan,
    apply: async (signal = new AbortController().signal, limits = {}, targets = []) => {
      events = [];
      const emit = (event: Event) => void events.push(event);
      const options = { baseUrl: proxy.url, apiKey: key, rate, concurrency: 4, timeoutMs: 5000, profile };
      const service = openService({ ...options, clock: systemClock, emit, root: folder.path });
      try {
        return await applyPlan({
          plan: await plan(targets),
          ledger,
          outcomes: forgetfulTracker,
          service,
          storage: service.storage,
          clock: systemClock,
          emit,
          signal,
          settleDelayMs: profile.settle_delay,
          concurrency: 4,
          command: "apply",
          limits,
        });
      } finally {
        await service.close();
      }
    },
    ends: () =>
      events
        .flatMap((event) => (event.type === "change_finished" ? [`${event.address}: ${event.outcome}`] : []))
        .sort(),
    requests: () => proxy.seen.splice(0),
    close: async () => {
      await ledger.close();
      await proxy.close();
      await sandbox.close();
      await folder.dispose();
    },
  };
}
