import { resolve } from "node:path";
import type { LogEntry } from "../../model/log.ts";
import { systemClock } from "../../model/ports.ts";
import { isSuccess, type ReconcileResult, reconcileFinished } from "../../model/reconcile-result.ts";
import { readFormer } from "../../model/replace-file.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import { wait } from "../../model/wait.ts";
import { makeProcessMetrics, makeReconcileMetrics, type ReconcileMetrics } from "../../report/metrics.ts";
import { describeReconcile } from "../../report/reconcile-text.ts";
import { packageVersion } from "../../service/transport.ts";
import type { Cli } from "../cli.ts";
import { type Config, loadConfig } from "../config.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { reportError } from "../terminal/report-error.ts";
import { ChangeFilter } from "./change-filter.ts";
import { limitFlagsOf, type ReconcileFlags, refreshOf } from "./flags.ts";
import { type HealthServer, parseListenAddress, startHealthServer } from "./health-server.ts";
import { writeMetricsFile } from "./metrics-file.ts";
import { notifyOfChange } from "./notify.ts";
import { reconcile } from "./reconcile.ts";
import { loadWebhook } from "./webhook.ts";

/** The flags of a process that stays. */
export type ServeFlags = ReconcileFlags & { readonly interval: number };

/** What may change while the process stays. */
interface Settings {
  readonly config: Config;
  readonly webhook: URL | undefined;
}

/**
 * Repeats runs until the process is interrupted, whether a run succeeds or fails. SIGHUP reloads the config and starts a run
 * immediately. An interrupt ends the current run as it ends an apply; the process then exits with 0, as supervisors expect
 * of a service that they stop, or with 130 if calls were aborted.
 */
export async function serve(cli: Cli, flags: ServeFlags): Promise<void> {
  const { terminal, signal, cwd, interrupts } = cli;
  const listen = flags.listen === undefined ? undefined : parseListenAddress(flags.listen);
  let settings = await loadSettings(cli, flags);
  const file = flags.metricsFile === undefined ? undefined : resolve(cwd, flags.metricsFile);
  const former = file === undefined ? "" : await readFormer(file);
  const metrics = makeReconcileMetrics({ version: packageVersion(), former });
  const rhythm = new Rhythm(flags.interval);
  const news = new ChangeFilter();
  const ownRuns = new Set<string>();
  const server = listen === undefined ? undefined : await startHealth(listen, { metrics, rhythm });
  if (server !== undefined) terminal.err(`listening on ${server.url}\n`);
  interrupts.spareHangup();
  const reloads = listenForReloads();
  try {
    while (!signal.aborted) {
      const isAsked = reloads.take();
      if (isAsked) settings = await reload(cli, { flags, settings });
      const { config, webhook } = settings;
      const limits = limitFlagsOf(flags);
      const { end, error } = await reconcile(cli, {
        config,
        limits,
        lockTimeout: flags.lockTimeout,
        refresh: refreshOf(flags),
        json: flags.json,
        metrics,
        news,
        // A person who sends SIGHUP wants a run now.
        ...(isAsked ? {} : { replicas: { intervalMs: flags.interval, ownRuns } }),
      });
      if (end.runId !== undefined) ownRuns.add(end.runId);
      if (flags.json) terminal.out(`${sanitizeJson(reconcileFinished(end))}\n`);
      const waitMs = rhythm.ended(end);
      if (error !== undefined) showError(cli, news, error);
      else news.isNew("error", "");
      if (file !== undefined) await writeFile(cli, { file, metrics, news });
      await notifyOfChange(cli, { config, webhook, end });
      const next = signal.aborted ? {} : { nextAt: systemClock.now() + waitMs };
      terminal.log(describeReconcile(end, next));
      await reloads.wait(waitMs, signal);
    }
  } finally {
    reloads.stop();
    await server?.close();
  }
  cli.end(interrupts.abortInFlight.aborted ? exitCode.interrupted : exitCode.done);
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

async function loadSettings(cli: Cli, flags: ServeFlags): Promise<Settings> {
  const config = await loadConfig({ cwd: cli.cwd, env: cli.env, flags });
  return { config, webhook: await loadWebhook(config, cli.env) };
}

/** Reports a config with mistakes, and keeps the previous one. */
async function reload(
  cli: Cli,
  { flags, settings }: { readonly flags: ServeFlags; readonly settings: Settings },
): Promise<Settings> {
  try {
    const next = await loadSettings(cli, flags);
    cli.terminal.err(`reloaded the config: ${next.config.file}\n`);
    return next;
  } catch (error) {
    reportError(error, cli.terminal);
    const text = "the changed config has errors; the previous config stays in use\n";
    cli.terminal.log({ level: "warning", text, code: "config-reload-failed" });
    return settings;
  }
}

async function startHealth(
  listen: { readonly host: string; readonly port: number },
  { metrics, rhythm }: { readonly metrics: ReconcileMetrics; readonly rhythm: Rhythm },
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

async function writeFile(
  { terminal }: Cli,
  {
    file,
    metrics,
    news,
  }: { readonly file: string; readonly metrics: ReconcileMetrics; readonly news: ChangeFilter },
): Promise<void> {
  const failure = (await writeMetricsFile(file, await metrics.text())) ?? "";
  if (news.isNew("metrics file", failure)) {
    terminal.log({ level: "warning", text: `warning: ${failure}\n`, code: "metrics-file-not-written" });
  }
}

/** The longest wait that a timer takes, milliseconds. */
const maxTimerMs = 2 ** 31 - 1;

/** SIGHUP, as long as the process stays. */
interface Reloads {
  /** Whether one came since this was last asked. */
  take(): boolean;
  /** Waits so long, or until one comes or the signal is aborted, whichever is first. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  stop(): void;
}

/** Listens for SIGHUP, which would end the process otherwise. */
function listenForReloads(): Reloads {
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
      await wait(Math.min(ms, maxTimerMs), signal, woken.signal);
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
  return Math.max(0, Math.round(intervalMs + random * jitter * intervalMs - tookMs));
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
