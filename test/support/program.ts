import type { Command } from "commander";
import { makeProgram } from "../../src/cli/program.ts";
import { noInterrupts } from "../../src/cli/runtime/interrupts.ts";
import { makeTerminal } from "../../src/cli/terminal/terminal.ts";
import type { LogEntry } from "../../src/model/log.ts";

/** Shared, because each terminal listens to the streams of the process. */
const unused = makeTerminal({});

/** Receivers of the program's output. */
interface Streams {
  readonly out?: (text: string) => void;
  readonly log?: (text: string) => void;
}

/** The command line of a user without a process. `first` is the first word of the command. */
export function programToRead({ out = () => {}, log }: Streams = {}, first?: string): Command {
  const interrupts = noInterrupts();
  const logTo = (entry: LogEntry) => {
    log?.(entry.text ?? "");
    return true;
  };
  const terminal = { ...unused, out, ...(log === undefined ? {} : { log: logTo }) };
  return makeProgram(
    { env: {}, cwd: "/", terminal, signal: interrupts.drain, interrupts, end: () => {} },
    "0.0.0",
    first,
  );
}
