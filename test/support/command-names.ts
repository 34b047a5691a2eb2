import type { Command } from "commander";
import { programToRead } from "./program.ts";

/** The name of every command and subcommand, and every flag. */
export function commandNames(): ReadonlySet<string> {
  const names = new Set<string>(["--help"]);
  const visit = (command: Command) => {
    for (const { long } of command.options) if (typeof long === "string") names.add(long);
    for (const child of command.commands) {
      names.add(child.name());
      visit(child);
    }
  };
  visit(programToRead());
  return names;
}

/** The command and the flags of a command line. */
export function wordsOf(line: string): readonly string[] {
  const words = line.split(/[\s=]+/);
  const first = words.slice(0, 1).filter((word) => /^[a-z]/.test(word));
  return [...first, ...words.filter((word) => /^--./.test(word))];
}
