import type { Command } from "commander";
import { describe, expect, test } from "vitest";
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
});
