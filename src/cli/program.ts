import { Command, Option } from "commander";
import { nearest } from "../manifest/nearest.ts";
import { type Cli, type DefineCommand, examples } from "./cli.ts";
import { defineApply } from "./commands/apply.ts";
import { defineCompletion } from "./commands/completion.ts";
import { defineDoctor } from "./commands/doctor.ts";
import { defineDrift } from "./commands/drift.ts";
import { defineExplain } from "./commands/explain.ts";
import { defineFleet } from "./commands/fleet.ts";
import { defineHistory } from "./commands/history.ts";
import { defineImport } from "./commands/import.ts";
import { defineInit } from "./commands/init.ts";
import { defineLock } from "./commands/lock.ts";
import { definePlan, defineShow } from "./commands/plan.ts";
import { defineProducts } from "./commands/products.ts";
import { defineReconcile } from "./commands/reconcile.ts";
import { defineResolve } from "./commands/resolve.ts";
import { defineSandbox } from "./commands/sandbox.ts";
import { defineSchema } from "./commands/schema.ts";
import { defineState } from "./commands/state.ts";
import { defineUploads } from "./commands/uploads.ts";
import { defineValidate } from "./commands/validate.ts";
import { CliError } from "./runtime/cli-error.ts";
import type { LogSettings } from "./terminal/terminal.ts";

const commands: Readonly<Record<string, DefineCommand>> = {
  init: defineInit,
  validate: defineValidate,
  plan: definePlan,
  apply: defineApply,
  reconcile: defineReconcile,
  fleet: defineFleet,
  show: defineShow,
  drift: defineDrift,
  import: defineImport,
  resolve: defineResolve,
  state: defineState,
  history: defineHistory,
  lock: defineLock,
  uploads: defineUploads,
  products: defineProducts,
  doctor: defineDoctor,
  sandbox: defineSandbox,
  schema: defineSchema,
  explain: defineExplain,
  completion: defineCompletion,
};

/**
 * The command line: every command, its flags and its help. When the name of a command is `first` in what the user typed,
 * the others cannot be meant and are left out. Errors of usage are thrown, not printed.
 */
export function makeProgram(cli: Cli, version: string, first?: string): Command {
  const { terminal } = cli;
  const known = first !== undefined && Object.hasOwn(commands, first) ? first : undefined;
  const program = withLogFlags(new Command("draftsync"), (settings) => terminal.adjust(settings))
    .description("Keeps a marketplace's product drafts in sync with YAML manifests.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .configureOutput({
      writeOut: terminal.out,
      writeErr: (text) => terminal.log({ level: "error", text, code: "bad-usage" }),
      outputError: (text) => printUsage(terminal, correctSuggestion(text.trim(), first), known),
    })
    .showSuggestionAfterError(true)
    .configureHelp({ sortSubcommands: false, showGlobalOptions: true })
    .addHelpText(
      "after",
      `${examples(
        "draftsync init                 write a config and a first manifest",
        "draftsync plan                 show what would change, and its cost",
        "draftsync apply                apply the changes, after asking",
      )}
Environment:
  DRAFTSYNC_API_KEY    API key of the service
  DRAFTSYNC_BASE_URL   address of the service, overrides the config
  DRAFTSYNC_STATE      location of the ledger, overrides the config
  DRAFTSYNC_RATE       rate limit such as 10/1s, overrides the config
  DRAFTSYNC_RATE_SHARED
                       database in which workspaces share the rate limit, overrides the config
  DRAFTSYNC_RECOVERY   folder of the recovery log, if not next to the ledger
  DRAFTSYNC_NOTIFY_URL webhook URL of reconcile, overrides the config
  NO_COLOR             turns colors off (FORCE_COLOR: on)

Exit codes:
  0 done   1 error, nothing changed   2 changes pending (plan --detailed-exitcode, drift)
  3 some operations failed   4 something is in doubt, or a recovery log is pending
  5 refused by a safety limit
  6 the plan is stale, or another process holds the lock
  7 stopped at --max-calls or --until   130 interrupted
`,
    );
  for (const [name, define] of Object.entries(commands))
    if (known === undefined || name === known) define(program, cli);
  defineHelp(program);
  inherit(program);
  return program;
}

/** Commands of other tools, and what does the same here. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["check", "validate"],
  ["deploy", "apply"],
  ["diff", "plan"],
  ["export", "state export"],
  ["lint", "validate"],
  ["log", "history"],
  ["logs", "history"],
  ["recover", "state recover"],
  ["status", "plan"],
  ["sync", "apply"],
  ["unlock", "lock release"],
]);

/** Commander also suggests commands that have little in common with the word, such as import for export. */
function correctSuggestion(text: string, first: string | undefined): string {
  const [, sentence, word = ""] = /^(error: unknown command '(.*)')/.exec(text) ?? [];
  if (sentence === undefined) return text;
  const suggested = /\(Did you mean (?:one of )?(.*)\?\)$/.exec(text)?.[1]?.split(", ") ?? [];
  const meant = nearest(word, suggested, 4) ?? (word === first ? synonyms.get(word) : undefined);
  return meant === undefined ? sentence : `${sentence}\n(Did you mean ${meant}?)`;
}

/** `text` is a sentence of commander, with its label. */
function printUsage({ log, paintErr }: Cli["terminal"], text: string, command: string | undefined): void {
  const flags = `\`draftsync ${command ?? "plan"} --help\``;
  const hint = `\`draftsync --help\` lists the commands, ${flags} the flags of ${command ?? "one"}.`;
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

/** Adds the flags of every command: what it logs on standard error, and how. `adjust` is called when they are parsed. */
function withLogFlags(program: Command, adjust: (settings: Partial<LogSettings>) => void): Command {
  return program
    .addOption(new Option("--quiet", "print results, warnings and errors only").conflicts("verbose"))
    .addOption(new Option("--verbose", "print every call: method, path, status and time"))
    .addOption(
      new Option("--log-format <format>", "format of standard error: text, or one JSON object a line")
        .choices(["text", "json"])
        .default("text"),
    )
    .option("--no-color", "no colors, as with NO_COLOR")
    .on("option:no-color", () => adjust({ color: false }))
    .on("option:quiet", () => adjust({ verbosity: "quiet" }))
    .on("option:verbose", () => adjust({ verbosity: "verbose" }))
    .on("option:log-format", (format: string) => adjust({ format: format === "json" ? "json" : "text" }));
}

/**
 * Gives a command, and each of its subcommands that has some, a `help` that takes the names of commands. A name that no
 * command has is an error, which names the nearest one: `CliError` `unknown-command`.
 */
function defineHelp(command: Command): void {
  const subcommands = [...command.commands];
  if (subcommands.length === 0) return;
  command.helpCommand(false);
  command
    .command("help")
    .summary("show help for a command")
    .argument("[command...]", "name of the command, and of its subcommand")
    .action((names: readonly string[]) => showHelp(command, names));
  subcommands.forEach(defineHelp);
}

async function showHelp(command: Command, names: readonly string[]): Promise<void> {
  let found = command;
  for (const name of names) {
    const next = found.commands.find((each) => each.name() === name);
    if (next === undefined) throw await unknownCommand(name, found);
    found = next;
  }
  found.help();
}

async function unknownCommand(name: string, { commands }: Command): Promise<CliError> {
  const names = commands.map((each) => each.name());
  const similar = nearest(name, names);
  const known = names.length > 0 ? `Commands: ${names.join(", ")}.` : "This command has no subcommands.";
  return new CliError(`"${name}" is not a command`, {
    code: "unknown-command",
    hint: similar === undefined ? known : `Did you mean ${similar}?`,
  });
}
