import type { EventSink } from "../model/event.ts";
import { inertJson } from "../model/inert-json.ts";
import { systemClock } from "../model/ports.ts";
import type { Progress } from "../report/progress.ts";
import type { PlaceFinder } from "../report/progress-text.ts";
import type { Cli } from "./cli.ts";
import type { Config } from "./config.ts";

/** How a command's calls are followed: as JSON on standard output, or in words on standard error. */
export interface ReporterOptions {
  readonly config: Config;
  readonly json?: boolean | undefined;
  readonly placeOf?: PlaceFinder;
}

/** Opens what shows the events of a command. `stop` is to be called on every way out. */
export async function openReporter(
  { terminal }: Cli,
  { config, json, placeOf = () => undefined }: ReporterOptions,
): Promise<Progress> {
  if (json) return tellAsLines((text) => terminal.out(text));
  const { makeProgress } = await import("../report/progress.ts");
  return makeProgress({
    log: (entry) => terminal.log(entry),
    paint: terminal.paintErr,
    placeOf,
    live: terminal.live,
    bound: config.service.rate,
    now: () => systemClock.monotonic(),
    every: repeat,
  });
}

/**
 * One JSON object a line. The lines of one turn of the event loop are one write: each write takes as long as a call's share
 * of a commit. On exit there is no further turn.
 */
function tellAsLines(out: (text: string) => void): Progress {
  let lines = "";
  let turn: NodeJS.Immediate | undefined;
  const flush = () => {
    clearImmediate(turn);
    turn = undefined;
    if (lines !== "") out(lines);
    lines = "";
  };
  const emit: EventSink = (event) => {
    lines += `${inertJson(event)}\n`;
    turn ??= setImmediate(flush);
  };
  process.on("exit", flush);
  const stop = () => {
    process.off("exit", flush);
    flush();
  };
  return { emit, stop };
}

/** Keeps no process alive. */
function repeat(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms).unref();
  return () => clearInterval(timer);
}
