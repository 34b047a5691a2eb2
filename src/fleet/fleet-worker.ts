import { execFile } from "node:child_process";
import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { LogEntry } from "../model/log.ts";
import { systemClock } from "../model/ports.ts";
import { wait } from "../model/wait.ts";
import { environmentOf, type FleetKey, failed, runChild } from "./child-run.ts";
import type { FleetMetrics } from "./fleet-metrics.ts";
import type { FleetQueue } from "./fleet-queue.ts";
import type { Claim, EndedRun, FleetStore } from "./fleet-store.ts";
import { describeRun } from "./fleet-text.ts";

/** The settings of `fleet.yaml` that a worker needs. */
export interface WorkerSettings {
  /** The folder of `fleet.yaml`, to which the configs of the workspaces are relative. */
  readonly root: string;
  /** Where workspaces with a shared key share their rate reservations: `postgres://…`; may hold a password. */
  readonly rates: string;
  /** When a run is ended, milliseconds. */
  readonly deadlineMs: number;
  /** Heap limit of a run, megabytes. */
  readonly memoryMb: number;
  readonly keys: ReadonlyMap<string, FleetKey>;
}

/** Arguments of {@link runWorker}. */
interface WorkerParts {
  readonly store: FleetStore;
  readonly queue: FleetQueue;
  /** Machine and process, for the table. */
  readonly name: string;
  readonly slots: number;
  /** Reads the settings; called before each sweep. */
  readonly settings: () => Promise<WorkerSettings>;
  readonly env: NodeJS.ProcessEnv;
  /** The program's main file. */
  readonly main: string;
  readonly metrics: FleetMetrics;
  readonly log: (entry: LogEntry) => void;
  /** Prints an error, after which the worker continues. */
  readonly report: (error: unknown) => void;
  /** Called after each sweep. */
  readonly notify: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** How often a worker records that it and its runs are alive, milliseconds. */
const beatMs = 3_000;
/** How often a worker adds what the queue lacks, milliseconds. */
const sweepMs = 60_000;

/** Runs what is due until the signal; then interrupts the current runs and records their ends. */
export async function runWorker(parts: WorkerParts): Promise<void> {
  const { store, queue, name, slots, signal, log, metrics, report } = parts;
  let settings = await parts.settings();
  /** A workspace may have a key that is new in the file. */
  const settingsFor = async (key: string | null): Promise<WorkerSettings> => {
    if (key !== null && !settings.keys.has(key)) settings = await parts.settings();
    return settings;
  };
  const runIds = new Set<string>();
  const stopped = new AbortController();
  const visible = stayVisible(parts, { runIds, signal: stopped.signal });
  const stop = queue.work({
    slots,
    run: (workspace) => runOnce(workspace, { ...parts, settingsFor, runIds }),
    isDue: async (workspace) => (await store.due(workspace)).get(workspace) === 0,
    onError: (error) =>
      log({ level: "debug", text: `queue: ${messageOf(error)}\n`, code: "fleet-queue-failed" }),
  });
  do {
    try {
      settings = await parts.settings();
    } catch (error) {
      // The worker continues with the previous settings.
      report(error);
    }
    await sweep(parts).then(metrics.swept, report);
    await parts.notify().catch(report);
  } while (await wait(sweepMs, signal));
  await stop();
  stopped.abort();
  await visible;
  await store.leave(name).catch(report);
}

/** Records regularly that the worker and its runs are alive; the next beat makes up for one that fails. */
async function stayVisible(
  { store, name, slots }: WorkerParts,
  { runIds, signal }: { readonly runIds: ReadonlySet<string>; readonly signal: AbortSignal },
): Promise<void> {
  do await store.see({ name, slots }, [...runIds]).catch(() => {});
  while (await wait(beatMs, signal));
}

/** Adds what the queue lacks, and hurries what is due and still waits. */
async function sweep({ store, queue }: WorkerParts): Promise<void> {
  const [due, waiting] = [await store.due(), await queue.names()];
  for (const [name, inMs] of due) {
    if (inMs === 0 || !waiting.has(name)) await queue.add(name, inMs);
  }
}

interface Current {
  /** The settings for a workspace with this key. */
  readonly settingsFor: (key: string | null) => Promise<WorkerSettings>;
  /** The current runs. */
  readonly runIds: Set<string>;
}

/** Runs a workspace if it is due. Returns the milliseconds until it is due again. */
async function runOnce(name: string, parts: WorkerParts & Current): Promise<number | undefined> {
  const { store, signal, metrics, log, runIds } = parts;
  // Another worker may take it.
  if (signal.aborted) return 0;
  const claim = await store.claim(name, parts.name);
  if (claim === undefined || typeof claim === "number") return claim;
  metrics.started(claim.lagMs);
  runIds.add(claim.runId);
  try {
    const since = systemClock.monotonic();
    const ended = await runClaim(claim, parts);
    const ms = Math.round(systemClock.monotonic() - since);
    metrics.ended(ended.status, ms);
    const inMs = await store.finish(claim, ended);
    log(describeRun(name, { ended, ms, inMs }));
    return inMs;
  } finally {
    runIds.delete(claim.runId);
  }
}

async function runClaim(
  { workspace }: Claim,
  { settingsFor, env, main, signal }: WorkerParts & Current,
): Promise<EndedRun> {
  let commit: string | null = null;
  try {
    const { root, memoryMb, deadlineMs, keys, rates } = await settingsFor(workspace.key);
    // A checkout behind a link, as git-sync makes it, is read at one commit.
    const config = resolve(await realpath(root), workspace.config);
    commit = await commitOf(dirname(config));
    const own = await environmentOf(workspace.key, { keys, rates, env });
    return { ...(await runChild({ main, config, env: own, memoryMb, deadlineMs, signal })), commit };
  } catch (error) {
    const { code, hint } = error instanceof DraftsyncError ? error : { code: "defect", hint: undefined };
    return { ...failed(null, { code, message: messageOf(error), hint }), commit };
  }
}

/** The commit of the manifests; `null` outside a repository. */
async function commitOf(folder: string): Promise<string | null> {
  try {
    const options = { cwd: folder, timeout: 5_000 };
    const { stdout } = await promisify(execFile)("git", ["rev-parse", "HEAD"], options);
    return stdout.trim();
  } catch {
    return null;
  }
}
