import { execFile } from "node:child_process";
import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { DraftsyncError, messageOf } from "../model/errors.ts";
import type { LogEntry } from "../model/log.ts";
import { systemClock } from "../model/ports.ts";
import { wait } from "../model/wait.ts";
import { environmentOf } from "./child-env.ts";
import { crashed, runChild, runErrorOf } from "./child-run.ts";
import type { FleetMetrics } from "./fleet-metrics.ts";
import type { FleetQueue } from "./fleet-queue.ts";
import type { FleetSettings } from "./fleet-settings.ts";
import type { Claim, EndedRun, FleetStore } from "./fleet-store.ts";
import { describeRun } from "./fleet-text.ts";

/** What a worker works with. */
export interface WorkerParts {
  readonly store: FleetStore;
  readonly queue: FleetQueue;
  /** For the table: which machine and process. */
  readonly name: string;
  readonly slots: number;
  /** Read again before each sweep. */
  readonly settings: () => Promise<FleetSettings>;
  readonly env: NodeJS.ProcessEnv;
  /** The program's main file. */
  readonly main: string;
  readonly metrics: FleetMetrics;
  readonly log: (entry: LogEntry) => void;
  /** Shows an error, after which the worker goes on. */
  readonly report: (error: unknown) => void;
  /** After each sweep. */
  readonly notify: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** How often a worker says that it is there and its runs go on, milliseconds. */
const beatMs = 3_000;
/** How often a worker looks for what the queue lost, milliseconds. */
const sweepMs = 60_000;

/** Runs what is due, until the signal; then the runs under way are interrupted, and their ends recorded. */
export async function runWorker(parts: WorkerParts): Promise<void> {
  const { queue, slots, signal, log, metrics } = parts;
  let settings = await parts.settings();
  /** A workspace may come up with a key that is new in the file. */
  const settingsFor = async (key: string | null): Promise<FleetSettings> => {
    if (key !== null && !settings.keys.has(key)) settings = await parts.settings();
    return settings;
  };
  const runIds = new Set<string>();
  const stopped = new AbortController();
  const visible = stayVisible(parts, { runIds, signal: stopped.signal });
  const worker = queue.work({
    slots,
    run: (name) => runOnce(name, { ...parts, settingsFor, runIds }),
    isDue: async (name) => (await parts.store.due(name)).get(name) === 0,
    onError: (error) =>
      log({ level: "debug", text: `queue: ${messageOf(error)}\n`, code: "fleet-queue-failed" }),
  });
  do {
    // What cannot be read leaves the worker with what it had.
    await parts.settings().then((read) => {
      settings = read;
    }, parts.report);
    await sweep(parts).then(metrics.swept, parts.report);
    await parts.notify().catch(parts.report);
  } while (await wait(sweepMs, signal));
  await worker.stop();
  stopped.abort();
  await visible;
  await parts.store.leave(parts.name).catch(parts.report);
}

/** Says now and then that the worker and its runs are there; a time that fails is left out. */
async function stayVisible(
  { store, name, slots }: WorkerParts,
  { runIds, signal }: { readonly runIds: ReadonlySet<string>; readonly signal: AbortSignal },
): Promise<void> {
  do await store.see({ name, slots }, [...runIds]).catch(() => {});
  while (await wait(beatMs, signal));
}

/** Adds what the queue lacks, and brings up what is due and still waits. */
async function sweep({ store, queue }: WorkerParts): Promise<void> {
  const [due, waiting] = [await store.due(), await queue.names()];
  for (const [name, inMs] of due) {
    if (!waiting.has(name)) await queue.add(name, inMs);
    else if (inMs === 0) await queue.hurry(name);
  }
}

interface Current {
  /** The settings of a workspace with this key. */
  readonly settingsFor: (key: string | null) => Promise<FleetSettings>;
  /** The runs under way. */
  readonly runIds: Set<string>;
}

/** One run, if the workspace is due; how long until it is due again. */
async function runOnce(name: string, parts: WorkerParts & Current): Promise<number | undefined> {
  const { store, signal, metrics, log, runIds } = parts;
  // Another worker may take it.
  if (signal.aborted) return 0;
  const claim = await store.claim(name, parts.name);
  if (claim === undefined || typeof claim === "number") return claim;
  metrics.began(claim.lagMs);
  runIds.add(claim.runId);
  try {
    const since = systemClock.monotonic();
    const ended = await carryOut(claim, parts);
    const ms = Math.round(systemClock.monotonic() - since);
    metrics.ended(ended.status, ms);
    const inMs = await store.finish(claim, ended);
    log(describeRun(name, { ended, ms, inMs }));
    return inMs;
  } finally {
    runIds.delete(claim.runId);
  }
}

async function carryOut(
  { workspace }: Claim,
  { settingsFor, env, main, signal }: WorkerParts & Current,
): Promise<EndedRun> {
  let commit: string | null = null;
  try {
    const current = await settingsFor(workspace.key);
    // A checkout that is exchanged by a link, as git-sync does it, is read as one commit.
    const config = resolve(await realpath(current.root), workspace.config);
    commit = await commitOf(dirname(config));
    const own = await environmentOf(workspace.key, { settings: current, env });
    const { memoryMb, deadlineMs } = current;
    return { ...(await runChild({ main, config, env: own, memoryMb, deadlineMs, signal })), commit };
  } catch (error) {
    const { code, hint } = error instanceof DraftsyncError ? error : { code: "defect", hint: undefined };
    return { ...crashed(null, runErrorOf({ code, message: messageOf(error), hint })), commit };
  }
}

/** The commit of the manifests; `null` where they are in no repository. */
async function commitOf(folder: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)("git", ["rev-parse", "HEAD"], {
      cwd: folder,
      timeout: 5_000,
    });
    return stdout.trim();
  } catch {
    return null;
  }
}
