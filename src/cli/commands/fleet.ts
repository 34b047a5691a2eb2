import type { Command } from "commander";
import { type Cli, type DefineCommand, examples, withFormat } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";

/** The flag of every fleet command. */
export interface FleetFlags {
  readonly fleet?: string;
}

/** `draftsync fleet apply` */
export interface ApplyFleetFlags extends FleetFlags {
  readonly dryRun?: boolean;
  readonly retireMost?: boolean;
}

/** `draftsync fleet status` */
export interface StatusFlags extends FleetFlags {
  readonly behind?: boolean;
  readonly failing?: boolean;
  readonly inDoubt?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
  readonly html?: boolean;
}

/** `draftsync fleet` */
export const defineFleet: DefineCommand = (program, cli) => {
  const fleet = program
    .command("fleet")
    .summary("reconcile many workspaces on one or several machines")
    .description(
      "Runs `draftsync reconcile` for each workspace that fleet.yaml names, at its interval, on any number of workers. The table of " +
        "workspaces and the queue are in a PostgreSQL database. docs/fleet.md has the steps.",
    )
    .addHelpText(
      "after",
      examples(
        "draftsync fleet apply                    take over fleet.yaml",
        "draftsync fleet worker                   run what is due, until SIGTERM",
        "draftsync fleet status --failing         what needs a person",
      ),
    );
  defineApply(fleet, cli);
  defineWorker(fleet, cli);
  defineRun(fleet, cli);
  definePause(fleet, cli);
  defineStatus(fleet, cli);
  defineServe(fleet, cli);
};

function withFleet(command: Command): Command {
  return command.option("--fleet <file>", "file of the fleet (default: fleet.yaml here)");
}

function defineApply(fleet: Command, cli: Cli): void {
  withFleet(fleet.command("apply"))
    .summary("take over fleet.yaml: add, change and retire workspaces")
    .description(
      "Shows the difference between fleet.yaml and the table of the fleet, then changes the table. A retired workspace runs no more; " +
        "its ledger and its history stay.",
    )
    .option("--dry-run", "show the difference only")
    .option("--retire-most", "retire more than half of the workspaces")
    .addHelpText("after", examples("draftsync fleet apply --dry-run", "draftsync fleet apply"))
    .action(async (flags: ApplyFleetFlags) => {
      const { applyFleet } = await import("../fleet/manage.ts");
      await applyFleet(cli, flags);
    });
}

function defineWorker(fleet: Command, cli: Cli): void {
  withFleet(fleet.command("worker"))
    .summary("run what is due, until a signal")
    .description(
      "Runs each workspace that is due as a process of its own. SIGTERM: no new run begins, and those under way end as an " +
        "interrupted apply does, within 7 s.",
    )
    .option("--slots <n>", "runs at a time (default: slots of fleet.yaml)", parseSlots)
    .option("--listen <address>", "serve /healthz, /readyz and /metrics at host:port")
    .addHelpText(
      "after",
      examples("draftsync fleet worker", "draftsync fleet worker --slots 4 --listen 127.0.0.1:9091"),
    )
    .action(async (flags: FleetFlags & { readonly slots?: number; readonly listen?: string }) => {
      const { runFleetWorker } = await import("../fleet/worker.ts");
      await runFleetWorker(cli, flags);
    });
}

function defineRun(fleet: Command, cli: Cli): void {
  withFleet(fleet.command("run"))
    .summary("run workspaces now")
    .description("Has a worker run them now. One that is running runs once more after that.")
    .argument("[name...]", "names of workspaces")
    .option("--all", "all that are not paused")
    .addHelpText("after", examples("draftsync fleet run lantern harbor", "draftsync fleet run --all"))
    .action(async (names: readonly string[], flags: FleetFlags & { readonly all?: boolean }) => {
      const { runNow } = await import("../fleet/manage.ts");
      await runNow(cli, names, flags);
    });
}

function definePause(fleet: Command, cli: Cli): void {
  const define = (name: string, summary: string, paused: boolean) =>
    withFleet(fleet.command(name))
      .summary(summary)
      .argument("<name...>", "names of workspaces")
      .addHelpText("after", examples(`draftsync fleet ${name} harbor`))
      .action(async (names: readonly string[], flags: FleetFlags) => {
        const { pause } = await import("../fleet/manage.ts");
        await pause(cli, names, { ...flags, paused });
      });
  define("pause", "run workspaces no more until they are resumed", true).description(
    "A run in progress is completed.",
  );
  define("resume", "run paused workspaces again", false);
}

function defineStatus(fleet: Command, cli: Cli): void {
  withFormat(withFleet(fleet.command("status")), { formats: ["text", "json", "html"] })
    .summary("show how each workspace is doing")
    .description("One line a workspace, the worst first; with its name, its last runs.")
    .argument("[name]", "one workspace")
    .option("--behind", "only those without a success for twice their interval")
    .option("--failing", "only those whose last run failed or waits for a person")
    .option("--in-doubt", "only those with calls in doubt")
    .option("--watch", "show it again every 2 s, on a terminal")
    .addHelpText(
      "after",
      examples(
        "draftsync fleet status",
        "draftsync fleet status lantern",
        "draftsync fleet status --failing --json | jq -r '.workspaces[].name'",
      ),
    )
    .action(async (name: string | undefined, flags: StatusFlags) => {
      const { showStatus } = await import("../fleet/status.ts");
      await showStatus(cli, name, flags);
    });
}

function defineServe(fleet: Command, cli: Cli): void {
  withFleet(fleet.command("serve"))
    .summary("serve the status as a web page")
    .description(
      "A read-only page: a table to sort and filter, in which each workspace leads to its last run. It has no login: keep it behind " +
        "a reverse proxy that has one.",
    )
    .option("--listen <address>", "host:port", "127.0.0.1:9092")
    .addHelpText("after", examples("draftsync fleet serve", "draftsync fleet serve --listen 127.0.0.1:8080"))
    .action(async (flags: FleetFlags & { readonly listen: string }) => {
      const { serveFleet } = await import("../fleet/serve.ts");
      await serveFleet(cli, flags);
    });
}

function parseSlots(text: string): number {
  if (/^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= 64) return Number(text);
  throw new CliError(`--slots must be an integer from 1 to 64, not "${text}"`, {
    code: "invalid-flag",
    hint: "Use --slots 4.",
  });
}
