import { Command } from "commander";
import { defineApply } from "./apply.ts";
import type { Cli } from "./cli.ts";
import { examples } from "./cli.ts";
import { defineCompletion } from "./completion.ts";
import { defineDoctor } from "./doctor.ts";
import { defineDrift } from "./drift.ts";
import { defineExplain } from "./explain.ts";
import { defineHelp } from "./help.ts";
import { defineHistory } from "./history.ts";
import { defineImport } from "./import.ts";
import { defineInit } from "./init.ts";
import { defineLock } from "./lock.ts";
import { withLogFlags } from "./log-flags.ts";
import { definePlan } from "./plan.ts";
import { defineProducts } from "./products.ts";
import { defineReconcile } from "./reconcile.ts";
import { defineResolve } from "./resolve.ts";
import { defineSandbox } from "./sandbox.ts";
import { defineSchema } from "./schema.ts";
import { defineShow } from "./show.ts";
import { defineState } from "./state.ts";
import { defineUploads } from "./uploads.ts";
import { defineValidate } from "./validate.ts";

const commands = [
  defineInit,
  defineValidate,
  definePlan,
  defineApply,
  defineReconcile,
  defineShow,
  defineDrift,
  defineImport,
  defineResolve,
  defineState,
  defineHistory,
  defineLock,
  defineUploads,
  defineProducts,
  defineDoctor,
  defineSandbox,
  defineSchema,
  defineExplain,
  defineCompletion,
];

/** The command line: every command, its flags and its help. Errors of usage are thrown, not printed. */
export function makeProgram(cli: Cli, version: string): Command {
  const { terminal } = cli;
  const program = withLogFlags(new Command("draftsync"), (settings) => terminal.adjust(settings))
    .description("Keeps a marketplace's product drafts in step with YAML manifests.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .configureOutput({
      writeOut: terminal.out,
      writeErr: (text) => terminal.log({ level: "error", text, code: "bad-usage" }),
      outputError: (text) => tellUsage(terminal, text.trim()),
    })
    .showSuggestionAfterError(true)
    .configureHelp({ sortSubcommands: false, showGlobalOptions: true })
    .addHelpText(
      "after",
      `${examples(
        "draftsync init                 write a config and a first manifest",
        "draftsync plan                 what would change, and what it costs",
        "draftsync apply                carry it out, after asking",
      )}
Environment:
  DRAFTSYNC_API_KEY    the service's access key
  DRAFTSYNC_BASE_URL   address of the service, before the config's
  DRAFTSYNC_STATE      the ledger, before the config's
  DRAFTSYNC_NOTIFY_URL webhook that reconcile tells, before the config's
  NO_COLOR             no colour (FORCE_COLOR: always)

Exit codes:
  0 done   1 error, nothing changed   2 changes pending (plan --detailed-exitcode, drift)
  3 some operations failed   4 something is in doubt, or waits for state recover
  5 refused by a safety limit
  6 the plan is stale, or somebody else holds the lock
  7 stopped at --max-calls or --until   130 interrupted
`,
    );
  for (const define of commands) define(program, cli);
  defineHelp(program);
  inherit(program);
  return program;
}

/** `text` is a sentence of commander, with its label. */
function tellUsage({ log, paintErr }: Cli["terminal"], text: string): void {
  const hint = "`draftsync --help` lists the commands, `draftsync plan --help` the flags of one.";
  const message = text.replace(/^error: /, "");
  const label = paintErr("error", "error:");
  const shown = `${label} ${message}\n  ${paintErr("info", "hint:")} ${hint}\n`;
  log({ level: "error", text: shown, message, code: "bad-usage", facts: { hint } });
}

/** Subcommands take over how the program writes and ends. */
function inherit(command: Command): void {
  command.exitOverride();
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inherit(child);
  }
}
