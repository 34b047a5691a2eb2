import type { Command } from "commander";
import { makeProgram } from "../../src/cli/program.ts";
import { makeTerminal } from "../../src/cli/terminal.ts";

/** The command line as a user has it, to look into and not to run. `out` is given what goes to standard output. */
export function programToRead(out: (text: string) => void = () => {}): Command {
  const { signal } = new AbortController();
  const interrupts = { drain: signal, cutOff: signal };
  const terminal = { ...makeTerminal({}), out };
  return makeProgram({ env: {}, cwd: "/", terminal, signal, interrupts, end: () => {} }, "0.0.0");
}
