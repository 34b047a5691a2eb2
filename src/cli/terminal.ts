import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import type { Palette } from "../report/palette.ts";
import { makePalette } from "../report/palette.ts";
import { exitCode } from "./exit-code.ts";

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
  /** Everything that comes on standard input. */
  readAll(): Promise<string>;
  /** Asks on standard error; `undefined` when the input ends or the question is interrupted. */
  ask(question: string, signal: AbortSignal): Promise<string | undefined>;
}

/** The process's streams. Colour follows https://no-color.org, FORCE_COLOR, and whether the stream is a terminal. */
export function makeTerminal(env: NodeJS.ProcessEnv): Terminal {
  const { stdin, stdout, stderr } = process;
  const out = guard(stdout, (error) => {
    process.exitCode = exitCode.error;
    stderr.write(`error: the output cannot be written: ${error.message}\n`);
  });
  const err = guard(stderr, () => {});
  return {
    out,
    err,
    paintOut: makePalette(wantsColour(env, stdout.isTTY)),
    paintErr: makePalette(wantsColour(env, stderr.isTTY)),
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    liveErr: stderr.isTTY === true && env.TERM !== "dumb",
    columns: stderr.columns || 80,
    readAll: () => text(stdin),
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

/**
 * Writes to a stream until it fails. That its reader has left (`draftsync plan | head`) is no error, and must not end
 * the process either: calls may be on their way whose outcome is still to be recorded.
 */
function guard(stream: NodeJS.WriteStream, onFailure: (error: Error) => void): (text: string) => void {
  let open = true;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    const first = open;
    open = false;
    if (first && error.code !== "EPIPE") onFailure(error);
  });
  return (text) => {
    if (open) stream.write(text);
  };
}

function wantsColour(env: NodeJS.ProcessEnv, isTerminal: boolean | undefined): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return env.FORCE_COLOR !== "0";
  return isTerminal === true && env.TERM !== "dumb";
}
