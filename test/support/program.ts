import type { Command } from "commander";
import { makeProgram } from "../../src/cli/program.ts";
import { noInterrupts } from "../../src/cli/runtime/interrupts.ts";
import { makeTerminal } from "../../src/cli/terminal/terminal.ts";

/** One for all: each listens to the streams of the process. */
const unused = makeTerminal({});

/**
 * The command line as a user has it, to look into and not to run. `out` is given what goes to standard output, `first` is the
 * first word that was typed.
 */
export function programToRead(out: (text: string) => void = () => {}, first?: string): Command {
  const interrupts = noInterrupts();
  const terminal = { ...unused, out };
  return makeProgram(
    { env: {}, cwd: "/", terminal, signal: interrupts.drain, interrupts, end: () => {} },
    "0.0.0",
    first,
  );
}
