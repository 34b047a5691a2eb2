import type { Cli } from "../cli/cli.ts";
import type { LogEntry } from "../model/log.ts";
import { onAbort } from "../model/wait.ts";
import { makePalette } from "../report/palette.ts";

/** Arguments of {@link makeQuietCli}. */
export interface QuietCliOptions {
  /** Absolute. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Interrupts the work. */
  readonly signal: AbortSignal;
  readonly onNote: (note: LogEntry) => void;
}

/** How long calls in flight may go on after an interrupt, milliseconds. As in the command line. */
const drainMs = 5_000;

/** What commands work with, for a program that has no terminal: nothing is printed, and nobody is asked. */
export function makeQuietCli({ cwd, env, signal, onNote }: QuietCliOptions): Cli {
  const plain = makePalette(false);
  const abortInFlight = new AbortController();
  onAbort(signal, () => void setTimeout(() => abortInFlight.abort(), drainMs).unref());
  const log = (entry: LogEntry) => {
    onNote(entry);
    return true;
  };
  return {
    cwd,
    env,
    signal,
    interrupts: {
      drain: signal,
      abortInFlight: abortInFlight.signal,
      spareHangup: () => {},
      allowMore: () => {},
    },
    end: () => {},
    terminal: {
      out: () => {},
      show: () => {},
      log,
      err: (text) => log({ level: "info", text }),
      isVerbose: false,
      paintOut: plain,
      paintErr: plain,
      interactive: false,
      readAll: async () => "",
      ask: async () => undefined,
      adjust: () => {},
    },
  };
}
