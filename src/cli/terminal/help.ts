import type { Command } from "commander";
import { nearest } from "../../manifest/nearest.ts";
import { CliError } from "../runtime/cli-error.ts";

/**
 * Gives a command, and each of its subcommands that has some, a `help` that takes the names of commands. A name that no
 * command has is an error, which names the nearest one: `CliError` `unknown-command`.
 */
export function defineHelp(command: Command): void {
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
