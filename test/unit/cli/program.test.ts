import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { CliError } from "../../../src/cli/runtime/cli-error.ts";
import { programToRead } from "../../support/program.ts";

const whole = programToRead();
const names = whole.commands.map((command) => command.name()).filter((name) => name !== "help");

/** What a command and those below it say of themselves. */
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

  test.each(names)("has %s alone when that is typed first, as it is beside the others", (name) => {
    const alone = programToRead(undefined, name);
    expect(namesOf(name)).toEqual([name, "help"]);
    const help = helpOf(alone.commands[0]);
    expect(help).toEqual(helpOf(whole.commands.find((command) => command.name() === name)));
    expect(help.join("")).toContain(`draftsync ${name}`);
  });

  test.each(["help", "--verbose", "paln", "constructor", ""])(
    "has all commands when %j is typed first",
    (first) => {
      expect(namesOf(first)).toEqual(namesOf());
    },
  );

  test.each([
    { args: ["plan", "--fromat", "json"], says: "Did you mean --format?" },
    { args: ["plan", "--format", "yaml"], says: "Allowed choices are text, json" },
    { args: ["state", "lst"], says: "Did you mean list?" },
    { args: ["help", "aply"], says: "Did you mean apply?" },
    { args: ["help", "state", "lst"], says: "Did you mean list?" },
    { args: ["help", "plan", "more"], says: "This command has no subcommands." },
    { args: ["state", "help", "exprt"], says: "Did you mean export?" },
    { args: ["show"], says: "missing required argument" },
    { args: ["sandbox", "--rate", "ten"], says: "Use a rate such as 10/1s" },
    { args: ["apply", "--max-deletes", "many"], says: "--max-deletes must be a number from 0 to 100" },
    { args: ["export"], says: "unknown command 'export'\n(Did you mean state export?)" },
    { args: ["status"], says: "unknown command 'status'\n(Did you mean plan?)" },
    { args: ["reconsile"], says: "Did you mean reconcile?" },
    { args: ["remove"], says: "unknown command 'remove'\n  hint:" },
    { args: ["destroy"], says: "unknown command 'destroy'\n  hint:" },
    { args: ["state", "status"], says: "unknown command 'status'\n  hint:" },
    { args: ["bogus"], says: "hint: `draftsync --help` lists the commands" },
  ])("rejects $args with a suggestion", async ({ args, says }) => {
    const logged: string[] = [];
    const program = programToRead({ log: (text) => void logged.push(text) }, args[0]);
    const error: unknown = await program.parseAsync([...args], { from: "user" }).catch((thrown) => thrown);
    const hint = error instanceof CliError ? error.hint : "";
    expect(error).toBeInstanceOf(Error);
    expect(`${logged.join("")}${error}${hint}`).toContain(says);
  });
});
