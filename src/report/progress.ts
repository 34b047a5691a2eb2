import type { Event, EventSink } from "../model/event.ts";
import type { LogEntry, LogSink } from "../model/log.ts";
import { formatLive, formatStatus, type LiveDisplay } from "./live-lines.ts";
import type { Palette } from "./palette.ts";
import type { PlaceFinder } from "./progress-text.ts";
import { formatFinished, formatRunFinished, formatWaiting, isLeftByStop } from "./progress-text.ts";
import { type RateBound, RunState } from "./run-state.ts";

/** Where and how progress is shown. */
export interface ProgressOptions {
  readonly log: LogSink;
  readonly paint: Palette;
  readonly placeOf: PlaceFinder;
  /** Lines below the finished changes that are rewritten in place; without them the log has a line now and then. */
  readonly live: LiveDisplay | undefined;
  /** The configured bound on calls. */
  readonly bound: RateBound;
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** Has `work` done again and again, so many milliseconds apart, until what it returns is called. */
  readonly every: (ms: number, work: () => void) => () => void;
}

/** Shows events as they come. `stop` takes the live lines away; to be called on every way out. */
export interface Progress {
  readonly emit: EventSink;
  stop(): void;
}

/** The live lines are looked at so often, milliseconds; they are written only when they have changed. */
const frameMs = 100;
/** In a log: when a line tells how far it is for the first time, and how often from then on, milliseconds. */
const firstStatusMs = 10_000;
const nextStatusMs = 30_000;
/** In a log only waits of this length are worth a line, milliseconds. */
const longWaitMs = 2000;

/** Follows a run on a stream for people. */
export function makeProgress(options: ProgressOptions): Progress {
  const { log, paint, placeOf, live, now } = options;
  const state = new RunState(options.bound);
  let stopTicking: (() => void) | undefined;
  let nextStatusAt = Number.POSITIVE_INFINITY;

  const draw = () => live?.show((columns) => formatLive(state, { now: now(), columns, paint }));
  const tellStatus = () => {
    if (now() < nextStatusAt) return;
    nextStatusAt = now() + nextStatusMs;
    const message = formatStatus(state, now());
    if (message !== "") log({ level: "info", text: `    ${message}\n`, message, code: "progress" });
  };
  const begin = () => {
    if (stopTicking !== undefined) return;
    nextStatusAt = now() + firstStatusMs;
    stopTicking = live === undefined ? options.every(1000, tellStatus) : options.every(frameMs, draw);
    draw();
  };
  const stop = () => {
    stopTicking?.();
    stopTicking = undefined;
    live?.hide();
  };
  const emit = (event: Event) => {
    if (event.type !== "planned") begin();
    state.take(event, now());
    if (event.type === "run_finished" || event.type === "refresh_finished") stop();
    const entry = entryOf(event, { paint, placeOf, hasWritten: state.hasWritten });
    if (entry === undefined || (event.type === "waiting" && live !== undefined)) return;
    log(entry);
  };
  return { emit, stop };
}

/** What is told of an event; `undefined`: nothing. */
function entryOf(
  event: Event,
  {
    paint,
    placeOf,
    hasWritten,
  }: Pick<ProgressOptions, "paint" | "placeOf"> & { readonly hasWritten: boolean },
): LogEntry | undefined {
  switch (event.type) {
    case "change_finished": {
      // Of a long plan that is stopped early these would be thousands of lines, below which nothing else is seen.
      if (event.outcome === "deferred" || isLeftByStop(event)) return undefined;
      const { type, at: _at, failure, ...facts } = event;
      const level = event.outcome === "done" ? "info" : event.outcome === "skipped" ? "warning" : "error";
      const code = failure?.code ?? type;
      return { level, text: `${formatFinished(event, paint, placeOf)}\n`, code, facts };
    }
    case "waiting": {
      const { reason, ms } = event;
      // Polls follow each other, and the line of the status tells of them.
      if (ms < longWaitMs || reason === "upload") return undefined;
      const message = formatWaiting(event);
      return { level: "info", text: `    ${message}\n`, message, code: event.type, facts: { reason, ms } };
    }
    case "run_finished": {
      const { type, run_id, totals, ms, stopped } = event;
      const { failed, in_doubt } = totals;
      return {
        level: failed + in_doubt > 0 ? "error" : "info",
        text: `\n${formatRunFinished(event, { paint, hasWritten })}\n`,
        code: typeof stopped === "object" ? stopped.code : type,
        facts: { run_id, totals, ms },
        isResult: true,
      };
    }
    case "planned":
    case "refresh_started":
    case "refresh_finished":
    case "run_started":
    case "change_started":
    case "call_finished":
    case "storage_call_finished":
    case "bound_announced":
    case "upload_progress":
    case "upload_finished":
      return undefined;
  }
}
