import type { Argument, Command, Option } from "commander";
import { programToRead } from "./program.ts";
import { sentence } from "./schema-reference.ts";

/** The options of the workspace, which most commands share and which are documented once. */
const shared = ["--config", "--base-url", "--state"];

/** The Markdown of every command, with a heading for each command and each of its options. */
export function commandReference(): string {
  const written: string[] = [];
  const program = programToRead({ out: (text) => void written.push(text) });
  /** The text after a command's help, which commander only writes to its output. */
  const belowHelp = (command: Command) => {
    written.length = 0;
    const help = command.helpInformation();
    command.outputHelp();
    return written.join("").split(help).at(-1)?.trim() ?? "";
  };
  const sectionOf = (command: Command): string[] => [
    ...commandSection(command, belowHelp(command)),
    ...subcommandsOf(command).flatMap(sectionOf),
  ];
  const sharing = everyCommand(program).find(sharesOptions);
  return [
    "## `draftsync`",
    sentence(program.description()),
    block("sh", `draftsync ${program.usage()}`),
    block("text", belowHelp(program)),
    ...ownOptions(program).flatMap((option) => optionSection(option, "")),
    "## The workspace",
    "Every command that works in a workspace accepts these options.",
    ...(sharing?.options ?? []).filter(isShared).flatMap((option) => optionSection(option, "")),
    ...subcommandsOf(program).flatMap(sectionOf),
  ].join("\n\n");
}

function commandSection(command: Command, below: string): string[] {
  const name = nameOf(command);
  const examples = /^Examples:\n(.*)$/s.exec(below)?.[1];
  return [
    `${"#".repeat(name.split(" ").length + 1)} \`draftsync ${name}\``,
    sentence(command.description() || command.summary()),
    block("sh", `draftsync ${name} ${command.usage()}`),
    ...(sharesOptions(command) ? ["Also accepts the options of [the workspace](#the-workspace)."] : []),
    ...(command.registeredArguments.length === 0
      ? []
      : [command.registeredArguments.map(argumentLine).join("\n")]),
    ...ownOptions(command).flatMap((option) => optionSection(option, name)),
    ...(examples === undefined ? [] : ["Examples:", block("sh", examples.replace(/^ {2}/gm, ""))]),
  ];
}

function optionSection(option: Option, command: string): string[] {
  const value = /[<[].*/.exec(option.flags)?.[0];
  const flag = option.long ?? option.flags;
  return [
    `#### \`${command === "" ? "" : `${command} `}${flag}\``,
    sentence(option.description),
    `*${[
      `\`${option.flags}\``,
      ...(value === undefined ? ["a switch"] : []),
      ...choices(option.argChoices),
      ...byDefault(option.defaultValue),
    ].join("; ")}*`,
  ];
}

function argumentLine(argument: Argument): string {
  const details = [
    ...(argument.required ? [] : ["optional"]),
    ...(argument.variadic ? ["one or more"] : []),
    ...choices(argument.argChoices),
    ...byDefault(argument.defaultValue),
  ];
  const known = details.length === 0 ? "" : ` *${details.join("; ")}*`;
  return `- \`${argument.name()}\`: ${sentence(argument.description)}${known}`;
}

function choices(names: readonly string[] | undefined): string[] {
  return names === undefined ? [] : [`one of ${names.map((name) => `\`${name}\``).join(", ")}`];
}

function byDefault(value: unknown): string[] {
  return value === undefined ? [] : [`default \`${value}\``];
}

function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

/** All subcommands except `help`. */
function subcommandsOf(command: Command): Command[] {
  return command.commands.filter((each) => each.name() !== "help");
}

function everyCommand(command: Command): Command[] {
  return subcommandsOf(command).flatMap((each) => [each, ...everyCommand(each)]);
}

function isShared(option: Option): boolean {
  return shared.includes(option.long ?? "");
}

function sharesOptions(command: Command): boolean {
  return command.options.filter(isShared).length === shared.length;
}

function ownOptions(command: Command): readonly Option[] {
  return sharesOptions(command) ? command.options.filter((option) => !isShared(option)) : command.options;
}
