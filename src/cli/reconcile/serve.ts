import { resolve } from "node:path";
import type { LogEntry } from "../../model/log.ts";
import { systemClock } from "../../model/ports.ts";
import { isSuccess, type ReconcileResult } from "../../model/reconcile-result.ts";
import { makeProcessMetrics, makeReconcileMetrics, type ReconcileMetrics } from "../../report/metrics.ts";
import { describeReconcile } from "../../report/reconcile-text.ts";
import { packageVersion } from "../../service/user-agent.ts";
import type { Cli } from "../cli.ts";
import { type Config, loadConfig } from "../config.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { reportError } from "../terminal/report-error.ts";
import { ChangeFilter } from "./change-filter.ts";
import { limitFlagsOf, type ReconcileFlags, refreshOf } from "./flags.ts";
import { type HealthServer, parseListenAddress, startHealthServer } from "./health-server.ts";
import { readMetricsFile, writeMetricsFile } from "./metrics-file.ts";
import { notifyOfChange } from "./notify.ts";
import { reconcile } from "./reconcile.ts";
import { listenForReloads } from "./reloads.ts";
import { isReady, waitForNext } from "./schedule.ts";
import { loadWebhook } from "./webhook.ts";

/** The flags of a process that stays. */
export type ServeFlags = ReconcileFlags & { readonly interval: number };

/** What may change while the process stays. */
interface Settings {
  readonly config: Config;
  readonly webhook: URL | undefined;
}

/**
 * Rounds until the process is told to end; whatever becomes of one, the next one comes. SIGHUP has the config read again
 * and a round begin at once. An interrupt ends the round that is under way as it ends an apply; the process then ends with
 * 0, which is what a supervisor expects of a service that was asked to stop, or with 130 when calls were cut off.
 */
export async function serve(cli: Cli, flags: ServeFlags): Promise<void> {
  const { terminal, signal, cwd, interrupts } = cli;
  const listen = flags.listen === undefined ? undefined : parseListenAddress(flags.listen);
  let settings = await loadSettings(cli, flags);
  const file = flags.metricsFile === undefined ? undefined : resolve(cwd, flags.metricsFile);
  const former = file === undefined ? "" : await readMetricsFile(file);
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
        // A person who sends SIGHUP wants a round now.
        ...(isAsked ? {} : { replicas: { intervalMs: flags.interval, ownRuns } }),
      });
      if (end.runId !== undefined) ownRuns.add(end.runId);
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

/** How rounds follow each other. */
class Rhythm {
  readonly #intervalMs: number;
  #lastTookMs = 0;
  /** On the clock that never goes back. */
  #succeededAt: number | undefined;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Takes in a round that has just ended; returns how long to wait for the next one, milliseconds. */
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

/** A config with mistakes is told, and the former one stays. */
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
    cli.terminal.log({ level: "warning", text, code: "config-not-taken" });
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

/** In full the first time, and after another one; the line of the round names its code each time. */
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
