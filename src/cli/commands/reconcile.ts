import type { Cli, DefineCommand } from "../cli.ts";
import { concurrencyOption, examples, parseDurationFlag, withFormat, withWriterFlags } from "../cli.ts";
import type { ReconcileFlags } from "../reconcile/serve.ts";
import { CliError } from "../runtime/cli-error.ts";
import { refreshOption } from "../runtime/planning.ts";
import { parseMaxCalls } from "../runtime/run-limits.ts";

const parseInterval = parseDurationFlag("--interval", "15m", { ms: 1000, text: "a second" });

/** `draftsync reconcile` */
export const defineReconcile: DefineCommand = (program, cli) => {
  withFormat(withWriterFlags(program.command("reconcile"), "reconcile.lock_wait"), {
    about: "output format; json: events, one object a line",
  })
    .summary("apply what the policy allows; once, or as a service")
    .description(
      "Checks the service within refresh.max_calls, plans, excludes changes that reconcile.allow does not list (default: " +
        "create and update), and applies the rest without asking. Runs once, for a timer, or with --interval as a service " +
        "until SIGTERM. SIGHUP starts a run of a service.",
    )
    .option("--interval <duration>", "keep running, and reconcile at this interval", parseInterval)
    .option("--listen <address>", "with --interval: serve /healthz, /readyz and /metrics at host:port")
    .option("--metrics-file <file>", "write metrics for a textfile collector after each run")
    .option(
      "--max-calls <n>",
      "start no operation beyond this many API calls a run (checks and retries of started ones may exceed it)",
      parseMaxCalls,
    )
    .option(
      "--until <time>",
      "start no operation after this time (started ones end later): 18:30, or 45m after the start of each run",
    )
    .addOption(refreshOption("budget"))
    .addOption(concurrencyOption())
    .addHelpText(
      "after",
      examples(
        "draftsync reconcile                          one run, for cron, systemd or a Kubernetes CronJob",
        "draftsync reconcile --metrics-file /var/lib/node_exporter/draftsync.prom",
        "draftsync reconcile --interval 15m --listen 127.0.0.1:9090",
      ),
    )
    .action((flags: ReconcileFlags) => runReconcile(cli, flags));
};

async function runReconcile(cli: Cli, flags: ReconcileFlags): Promise<void> {
  const { limitFlagsOf, reconcileOnce, serve } = await import("../reconcile/serve.ts");
  limitFlagsOf(flags);
  if (flags.interval !== undefined) return serve(cli, flags, flags.interval);
  if (flags.listen !== undefined) {
    throw new CliError("--listen needs --interval", {
      code: "invalid-flag",
      hint: "Add --interval 15m, or write metrics to a file with --metrics-file.",
    });
  }
  await reconcileOnce(cli, flags);
}
