import { createInterface } from "node:readline/promises";
import type { Palette } from "../report/palette.ts";
import { makePalette } from "../report/palette.ts";

/** The only way to the process's streams: results go to `out`, everything else to `err`. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  readonly paintOut: Palette;
  readonly paintErr: Palette;
  /** Whether a person can be asked: both standard input and standard error are terminals. */
  readonly interactive: boolean;
  /** Whether standard error can be rewritten in place. */
  readonly liveErr: boolean;
  readonly columns: number;
  /** Asks on standard error; `undefined` when the input ends or the question is interrupted. */
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
}

/** The process's streams. Colour follows https://no-color.org, FORCE_COLOR, and whether the stream is a terminal. */
export function makeTerminal(env: NodeJS.ProcessEnv): Terminal {
  const { stdin, stdout, stderr } = process;
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    paintOut: makePalette(wantsColour(env, stdout.isTTY)),
    paintErr: makePalette(wantsColour(env, stderr.isTTY)),
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    liveErr: stderr.isTTY === true && env.TERM !== "dumb",
    columns: stderr.columns ?? 80,
    ask: async (question, signal) => {
      const lines = createInterface({ input: stdin, output: stderr });
      const ended = new AbortController();
      lines.once("close", () => ended.abort());
      try {
        return await lines.question(question, { signal: AbortSignal.any([signal, ended.signal]) });
      } catch {
        stderr.write("\n");
        return undefined;
      } finally {
        lines.close();
      }
    },
  };
}

function wantsColour(env: NodeJS.ProcessEnv, isTerminal: boolean | undefined): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return env.FORCE_COLOR !== "0";
  return isTerminal === true && env.TERM !== "dumb";
}
