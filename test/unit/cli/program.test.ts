import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { CliError } from "../../../src/cli/runtime/cli-error.ts";
import { programToRead } from "../../support/program.ts";

const whole = programToRead();
const names = whole.commands.map((command) => command.name()).filter((name) => name !== "help");

/** The help of a command and its subcommands. */
function helpOf(command: Command | undefined): readonly string[] {
  if (command === undefined) return [];
  return [command.helpInformation(), ...command.commands.flatMap(helpOf)];
}

function namesOf(first?: string): readonly string[] {
  return programToRead(undefined, first).commands.map((command) => command.name());
}

describe("the command line", () => {
  test("has its commands", () => {
    expect(names).toEqual(expect.arrayContaining(["plan", "apply", "state", "completion"]));
    expect(names.length).toBeGreaterThan(15);
  });

  test.each(names)("loads only %s, with the same help, when that is the first argument", (name) => {
    const alone = programToRead(undefined, name);
    expect(namesOf(name)).toEqual([name, "help"]);
    const help = helpOf(alone.commands[0]);
    expect(help).toEqual(helpOf(whole.commands.find((command) => command.name() === name)));
    expect(help.join("")).toContain(`draftsync ${name}`);
  });

  test.each(["help", "--verbose", "paln", "constructor", ""])(
    "loads all commands when %j is the first argument",
    (first) => {
      expect(namesOf(first)).toEqual(namesOf());
    },
  );

  test.each([
    { args: ["plan", "--fromat", "json"], message: "Did you mean --format?" },
    { args: ["plan", "--format", "yaml"], message: "Allowed choices are text, json" },
    { args: ["state", "lst"], message: "Did you mean list?" },
    { args: ["help", "aply"], message: "Did you mean apply?" },
    { args: ["help", "state", "lst"], message: "Did you mean list?" },
    { args: ["help", "plan", "more"], message: "This command has no subcommands." },
    { args: ["state", "help", "exprt"], message: "Did you mean export?" },
    { args: ["show"], message: "missing required argument" },
    { args: ["sandbox", "--rate", "ten"], message: "Use a rate such as 10/1s" },
    { args: ["apply", "--max-deletes", "many"], message: "--max-deletes must be a number from 0 to 100" },
    { args: ["export"], message: "unknown command 'export'\n(Did you mean state export?)" },
    { args: ["status"], message: "unknown command 'status'\n(Did you mean plan?)" },
    { args: ["reconsile"], message: "Did you mean reconcile?" },
    { args: ["remove"], message: "unknown command 'remove'\n  hint:" },
    { args: ["destroy"], message: "unknown command 'destroy'\n  hint:" },
    { args: ["state", "status"], message: "unknown command 'status'\n  hint:" },
    { args: ["bogus"], message: "hint: `draftsync --help` lists the commands" },
  ])("rejects $args with a suggestion", async ({ args, message }) => {
    const logged: string[] = [];
    const program = programToRead({ log: (text) => void logged.push(text) }, args[0]);
    const error: unknown = await program.parseAsync([...args], { from: "user" }).catch((thrown) => thrown);
    const hint = error instanceof CliError ? error.hint : "";
    expect(error).toBeInstanceOf(Error);
    expect(`${logged.join("")}${error}${hint}`).toContain(message);
  });
});
