import { resolve } from "node:path";
import { messageOf } from "../../model/errors.ts";
import type { LogEntry } from "../../model/log.ts";
import type { RefreshMode } from "../../model/observed.ts";
import { systemClock } from "../../model/ports.ts";
import { isSuccess, type ReconcileResult, reconcileFinished } from "../../model/reconcile-result.ts";
import { readFormer, replaceFile } from "../../model/replace-file.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import { parseDuration } from "../../model/time.ts";
import { wait } from "../../model/wait.ts";
import { makeProcessMetrics, makeReconcileMetrics, type ReconcileMetrics } from "../../report/metrics.ts";
import { describeReconcile } from "../../report/reconcile-text.ts";
import { packageVersion } from "../../service/transport.ts";
import type { Cli, WriterFlags } from "../cli.ts";
import { type Config, loadConfig } from "../config.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { type LimitFlags, parseUntil } from "../runtime/run-limits.ts";
import { reportError } from "../terminal/report-error.ts";
import {
  type HealthServer,
  type ListenAddress,
  parseListenAddress,
  startHealthServer,
} from "./health-server.ts";
import { ChangeFilter, type EndedReconcile, type ReconcileRequest, reconcile } from "./reconcile.ts";
import { loadWebhook, notifyOfChange } from "./webhook.ts";

/** The flags of `draftsync reconcile`. */
export interface ReconcileFlags extends WriterFlags {
  /** Milliseconds. */
  readonly interval?: number;
  readonly listen?: string;
  readonly metricsFile?: string;
  readonly maxCalls?: number;
  /** The text of the flag: each run counts from its own start. */
  readonly until?: string;
  readonly json?: boolean;
  readonly refresh: "none" | RefreshMode;
}

/** How far a run that begins now may go. Throws {@link CliError} `invalid-flag`. */
export function limitFlagsOf({ maxCalls, until, interval }: ReconcileFlags): LimitFlags {
  if (until !== undefined && interval !== undefined && parseDuration(until) === undefined) {
    throw new CliError(`with --interval, --until must be a duration, not "${until}"`, {
      code: "invalid-flag",
      hint: "Each run starts operations for that long: --until 10m.",
    });
  }
  return {
    ...(maxCalls === undefined ? {} : { maxCalls }),
    ...(until === undefined ? {} : { until: parseUntil(until, systemClock) }),
  };
}

/** What may change between the runs of a process. */
interface Settings {
  readonly config: Config;
  readonly webhook: URL | undefined;
}

async function loadSettings(cli: Cli, flags: ReconcileFlags): Promise<Settings> {
  const config = await loadConfig({ cwd: cli.cwd, env: cli.env, flags });
  return { config, webhook: await loadWebhook(config.notify, cli.env) };
}

/** One run, with the exit code that an apply would have. */
export async function reconcileOnce(cli: Cli, flags: ReconcileFlags): Promise<void> {
  const settings = await loadSettings(cli, flags);
  const runner = await openRunner(cli, flags);
  const { end, exitCode, error } = await runner.run(settings.config, {});
  cli.end(exitCode);
  await runner.publish(settings, end);
  if (error !== undefined) throw error;
}

/**
 * Repeats runs until the process is interrupted, whether a run succeeds or fails. Each reads the config, and fails when that has
 * errors: an older config never meets newer manifests. SIGHUP starts a run immediately. An interrupt ends the current run as it
 * ends an apply; the process then exits with 0, as supervisors expect of a service that they stop, or with 130 if calls were
 * aborted.
 */
export async function serve(cli: Cli, flags: ReconcileFlags, intervalMs: number): Promise<void> {
  const { terminal, signal, interrupts } = cli;
  const listen = flags.listen === undefined ? undefined : parseListenAddress(flags.listen);
  let settings = await loadSettings(cli, flags);
  terminal.adjust({ context: { workspace: settings.config.workspace } });
  const runner = await openRunner(cli, flags);
  const rhythm = new Rhythm(intervalMs);
  const news = new ChangeFilter();
  const ownRuns = new Set<string>();
  const server = listen === undefined ? undefined : await startHealth(listen, runner.metrics, rhythm);
  if (server !== undefined) terminal.err(`listening on ${server.url}\n`);
  // A terminal that is closed sends one as well: then nobody would see what the service does.
  if (!terminal.isAttached) interrupts.spareHangup();
  const hangups = listenForHangups();
  try {
    while (!signal.aborted) {
      // A person who sends SIGHUP wants a run now.
      const replicas = hangups.take() ? undefined : { intervalMs, ownRuns };
      let failure: unknown;
      try {
        settings = await loadSettings(cli, flags);
      } catch (error) {
        failure = error;
      }
      const { end, error } = await runner.run(settings.config, { news, replicas, failure });
      if (end.runId !== undefined) ownRuns.add(end.runId);
      const waitMs = rhythm.ended(end);
      if (error !== undefined) showError(cli, news, error);
      else news.isNew("error", "");
      await runner.publish(settings, end);
      const next = signal.aborted ? {} : { nextAt: systemClock.now() + waitMs };
      terminal.log(describeReconcile(end, next));
      await hangups.wait(waitMs, signal);
    }
  } finally {
    hangups.stop();
    await server?.close();
  }
  cli.end(interrupts.abortInFlight.aborted ? exitCode.interrupted : exitCode.done);
}

/** What the runs of a process share. */
interface Runner {
  readonly metrics: ReconcileMetrics;
  run(config: Config, how: Pick<ReconcileRequest, "news" | "replicas" | "failure">): Promise<EndedReconcile>;
  /** Writes the metrics file and notifies the webhook; a failure is a warning. */
  publish(settings: Settings, end: ReconcileResult): Promise<void>;
}

async function openRunner(cli: Cli, flags: ReconcileFlags): Promise<Runner> {
  const { cwd, terminal } = cli;
  const file = flags.metricsFile === undefined ? undefined : resolve(cwd, flags.metricsFile);
  const former = file === undefined ? "" : await readFormer(file);
  const metrics = makeReconcileMetrics({ version: packageVersion(), former });
  const warnings = new ChangeFilter();
  return {
    metrics,
    run: async (config, how) => {
      const { json, lockTimeout } = flags;
      const refresh = flags.refresh === "none" ? undefined : flags.refresh;
      const limits = limitFlagsOf(flags);
      const ended = await reconcile(cli, { config, limits, lockTimeout, refresh, json, metrics, ...how });
      if (json) terminal.out(`${sanitizeJson(reconcileFinished(ended.end))}\n`);
      return ended;
    },
    publish: async ({ config, webhook }, end) => {
      const failure = file === undefined ? undefined : await writeMetricsFile(file, await metrics.text());
      if (warnings.isNew("metrics file", failure ?? "")) {
        const text = `warning: ${failure}\n`;
        terminal.log({ level: "warning", text, code: "metrics-file-not-written" });
      }
      await notifyOfChange(cli, { config, webhook, end });
    },
  };
}

/**
 * Writes a file for a textfile collector: whole or not at all, and for every user to read, since the collector is another
 * one. Replaces nothing but metrics. Returns what went wrong, if anything did.
 */
export async function writeMetricsFile(path: string, text: string): Promise<string | undefined> {
  const former = await readFormer(path);
  if (former !== "" && !/^# (HELP|TYPE) /.test(former)) {
    return `the metrics file cannot be written: ${path} is there already, and holds no metrics`;
  }
  try {
    await replaceFile(path, text, 0o644);
    return undefined;
  } catch (error) {
    return `the metrics file cannot be written: ${messageOf(error)}`;
  }
}

/** How runs follow each other. */
class Rhythm {
  readonly #intervalMs: number;
  #lastTookMs = 0;
  /** On the clock that never goes back. */
  #succeededAt: number | undefined;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Counts a run that has just ended; returns how long to wait for the next one, milliseconds. */
  ended(end: ReconcileResult): number {
    this.#lastTookMs = end.ms;
    if (isSuccess(end)) this.#succeededAt = systemClock.monotonic();
    return waitForNext({ intervalMs: this.#intervalMs, tookMs: end.ms, random: Math.random() });
  }

  readiness(): { readonly ready: boolean; readonly text: string } {
    const sinceSuccessMs =
      this.#succeededAt === undefined ? undefined : systemClock.monotonic() - this.#succeededAt;
    const ready = isReady({ sinceSuccessMs, intervalMs: this.#intervalMs, lastTookMs: this.#lastTookMs });
    if (sinceSuccessMs === undefined) return { ready, text: "no run has succeeded yet" };
    const seconds = Math.round(sinceSuccessMs / 1000);
    return {
      ready,
      text: `${ready ? "ok" : "not ready"}: the last successful run ended ${seconds} s ago`,
    };
  }
}

async function startHealth(
  listen: ListenAddress,
  metrics: ReconcileMetrics,
  rhythm: Rhythm,
): Promise<HealthServer> {
  const processMetrics = makeProcessMetrics();
  return startHealthServer(listen, {
    readiness: () => rhythm.readiness(),
    metrics: async () => `${await metrics.text()}\n${await processMetrics()}`,
  });
}

/** In full the first time, and after another one; the line of the run names its code each time. */
function showError({ terminal }: Cli, news: ChangeFilter, error: unknown): void {
  const entries: LogEntry[] = [];
  const { paintErr } = terminal;
  reportError(error, { log: (entry) => entries.push(entry) > 0, paintErr });
  if (news.isNew("error", entries.map(({ text }) => text).join(""))) entries.forEach(terminal.log);
}

/** Runs that SIGHUP requests. */
interface Hangups {
  /** Whether one arrived since the last call. */
  take(): boolean;
  /** Waits for a SIGHUP, for the given time at most, and not after the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  stop(): void;
}

/** Listens for SIGHUP, which would end the process otherwise. */
function listenForHangups(): Hangups {
  let came = false;
  let wake: () => void = () => {};
  const onSignal = () => {
    came = true;
    wake();
  };
  process.on("SIGHUP", onSignal);
  return {
    take: () => {
      const taken = came;
      came = false;
      return taken;
    },
    wait: async (ms, signal) => {
      if (came) return;
      const woken = new AbortController();
      wake = () => woken.abort();
      await wait(ms, signal, woken.signal);
    },
    stop: () => void process.off("SIGHUP", onSignal),
  };
}

/** When the next run begins. Times in milliseconds. */
interface Pace {
  readonly intervalMs: number;
  /** How long the run took that has just ended. */
  readonly tookMs: number;
  /** In [0, 1). */
  readonly random: number;
}

/** Share of the interval by which a run may begin later, so that those of many workspaces do not begin together. */
const jitter = 0.1;

/** In which a waiting command gets the lock, which it asks for twice a second. */
const leastPauseMs = 1000;

/**
 * How long to wait, after the end of a run, for the next one to begin. Runs begin an interval apart, also after
 * failures: an outage must not outlast itself. A run that takes longer delays the next, and none overlap.
 *
 * ```
 *   |<──────── interval ────────>|~ jitter ~|
 *   [ run ]                               [ run ]
 * ```
 */
export function waitForNext({ intervalMs, tookMs, random }: Pace): number {
  return Math.max(leastPauseMs, Math.round(intervalMs + random * jitter * intervalMs - tookMs));
}

/**
 * Whether runs succeed as often as they should: one has within two intervals, or within twice the time that the last
 * run took when that is longer. `sinceSuccessMs` is absent until one has.
 */
export function isReady({
  sinceSuccessMs,
  intervalMs,
  lastTookMs,
}: {
  readonly sinceSuccessMs: number | undefined;
  readonly intervalMs: number;
  readonly lastTookMs: number;
}): boolean {
  if (sinceSuccessMs === undefined) return false;
  return sinceSuccessMs <= 2 * (1 + jitter) * Math.max(intervalMs, lastTookMs);
}
