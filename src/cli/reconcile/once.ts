import { resolve } from "node:path";
import { reconcileFinished } from "../../model/reconcile-result.ts";
import { readFormer } from "../../model/replace-file.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import { makeReconcileMetrics } from "../../report/metrics.ts";
import { packageVersion } from "../../service/transport.ts";
import type { Cli } from "../cli.ts";
import { loadConfig } from "../config.ts";
import { limitFlagsOf, type ReconcileFlags, refreshOf } from "./flags.ts";
import { writeMetricsFile } from "./metrics-file.ts";
import { notifyOfChange } from "./notify.ts";
import { reconcile } from "./reconcile.ts";
import { loadWebhook } from "./webhook.ts";

/** One run, with the exit code that an apply would have. */
export async function reconcileOnce(cli: Cli, flags: ReconcileFlags): Promise<void> {
  const config = await loadConfig({ cwd: cli.cwd, env: cli.env, flags });
  const webhook = await loadWebhook(config, cli.env);
  const file = flags.metricsFile === undefined ? undefined : resolve(cli.cwd, flags.metricsFile);
  const former = file === undefined ? "" : await readFormer(file);
  const metrics = makeReconcileMetrics({ version: packageVersion(), former });
  const { json } = flags;
  const { end, exitCode, error } = await reconcile(cli, {
    config,
    limits: limitFlagsOf(flags),
    lockTimeout: flags.lockTimeout,
    refresh: refreshOf(flags),
    json,
    metrics,
  });
  if (json) cli.terminal.out(`${sanitizeJson(reconcileFinished(end))}\n`);
  cli.end(exitCode);
  if (file !== undefined) {
    const failure = await writeMetricsFile(file, await metrics.text());
    if (failure !== undefined) {
      const text = `warning: ${failure}\n`;
      cli.terminal.log({ level: "warning", text, code: "metrics-file-not-written" });
    }
  }
  await notifyOfChange(cli, { config, webhook, end });
  if (error !== undefined) throw error;
}
