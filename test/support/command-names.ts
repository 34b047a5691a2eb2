import { makeProgram } from "../../src/cli/program.ts";
import { makeTerminal } from "../../src/cli/terminal.ts";

/** The name of every command and subcommand, and every flag. */
export function commandNames(): ReadonlySet<string> {
  const { signal } = new AbortController();
  const interrupts = { drain: signal, cutOff: signal };
  const cli = { env: {}, cwd: "/", terminal: makeTerminal({}), signal, interrupts, end: () => {} };
  const names = new Set<string>(["--help"]);
  const visit = (command: ReturnType<typeof makeProgram>) => {
    for (const { long } of command.options) if (typeof long === "string") names.add(long);
    for (const child of command.commands) {
      names.add(child.name());
      visit(child);
    }
  };
  visit(makeProgram(cli, "0.0.0"));
  return names;
}

/** Of a command line, the command and the flags: the words that may not be misspelled. */
export function wordsOf(line: string): readonly string[] {
  const words = line.split(/[\s=]+/);
  const first = words.slice(0, 1).filter((word) => /^[a-z]/.test(word));
  return [...first, ...words.filter((word) => word.startsWith("--"))];
}
