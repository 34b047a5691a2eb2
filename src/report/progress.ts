import type { Event, EventSink } from "../model/event.ts";
import type { LogEntry } from "../model/log.ts";
import type { CallFailure } from "../model/outcome.ts";
import { causeOf, type FailureGroup, FailureGroups } from "./failure-groups.ts";
import { formatLive, formatStatus, type LiveDisplay } from "./live-lines.ts";
import type { Palette } from "./palette.ts";
import type { LocationFinder } from "./progress-text.ts";
import { formatFailureGroup, formatFinished, formatRunFinished, formatWaiting } from "./progress-text.ts";
import { plural } from "./quantities.ts";
import { type RateBound, RunState } from "./run-state.ts";

/** Where and how progress is shown. */
export interface ProgressOptions {
  /** Returns whether the entry is shown: `--quiet` leaves most of them out. */
  readonly log: (entry: LogEntry) => boolean;
  readonly paint: Palette;
  readonly locationOf: LocationFinder;
  /** Lines below the finished changes that are rewritten in place; without them the log has a line now and then. */
  readonly live: LiveDisplay | undefined;
  /** The configured bound on calls. */
  readonly bound: RateBound;
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** Has `work` done again and again, so many milliseconds apart, until what it returns is called. */
  readonly every: (ms: number, work: () => void) => () => void;
}

/**
 * Shows events as they come, and what failed at the end, by cause. `stop` takes the live lines away and shows what failed so
 * far; to be called on every way out.
 */
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

/** Causes that are shown in full. */
const maxGroups = 10;

/** Follows a run on a stream for people. */
export function makeProgress(options: ProgressOptions): Progress {
  const { log, paint, locationOf, live, now } = options;
  const state = new RunState(options.bound);
  const failures = new FailureGroups<CallFailure>();
  let stopTicking: (() => void) | undefined;
  let nextStatusAt = Number.POSITIVE_INFINITY;

  const draw = () => live?.show((columns) => formatLive(state, { now: now(), columns, paint }));
  const reportStatus = () => {
    if (now() < nextStatusAt) return;
    nextStatusAt = now() + nextStatusMs;
    const message = formatStatus(state, now());
    if (message !== "") write({ level: "info", text: `    ${message}\n`, message, code: "progress" });
  };
  const begin = () => {
    if (stopTicking !== undefined) return;
    nextStatusAt = now() + firstStatusMs;
    stopTicking = live === undefined ? options.every(1000, reportStatus) : options.every(frameMs, draw);
    draw();
  };
  let isFirst = true;
  const write = (entry: LogEntry) => {
    if (log(entry)) isFirst = false;
  };
  /** An empty line between paragraphs, and none at the start. */
  const writeParagraph = (entry: LogEntry) => write(isFirst ? entry : { ...entry, text: `\n${entry.text}` });
  const reportFailures = () => {
    const groups = failures.take();
    for (const group of groups.slice(0, maxGroups))
      writeParagraph(describeGroup(group, { paint, locationOf }));
    const others = groups.slice(maxGroups);
    if (others.length > 0) writeParagraph(describeOthers(others, paint));
  };
  const stop = () => {
    stopTicking?.();
    stopTicking = undefined;
    live?.hide();
    reportFailures();
  };
  const emit = (event: Event) => {
    if (event.type !== "planned") begin();
    state.take(event, now());
    if (event.type === "change_finished" && event.failure !== undefined)
      failures.add({ ...event, failure: event.failure });
    if (event.type === "run_finished" || event.type === "refresh_finished") stop();
    const entry = entryOf(event, { paint, hasWritten: state.hasWritten });
    if (entry === undefined || (event.type === "waiting" && live !== undefined)) return;
    if (event.type === "run_finished") writeParagraph(entry);
    else write(entry);
  };
  return { emit, stop };
}

function describeGroup(
  group: FailureGroup<CallFailure>,
  { paint, locationOf }: Pick<ProgressOptions, "paint" | "locationOf">,
): LogEntry {
  const { failure, isDoubt, count, addresses } = group;
  const { code, hint, errors } = failure;
  return {
    level: "error",
    text: `${formatFailureGroup(group, paint, locationOf)}\n`,
    message: causeOf(failure),
    code,
    facts: {
      outcome: isDoubt ? "in_doubt" : "failed",
      changes: count,
      addresses,
      ...(hint === undefined ? {} : { hint }),
      errors,
    },
  };
}

function describeOthers(groups: readonly FailureGroup[], paint: Palette): LogEntry {
  const changes = groups.reduce((sum, { count }) => sum + count, 0);
  const message = `${plural(changes, "change")} did not succeed for ${plural(groups.length, "other cause")}`;
  const hint = "`draftsync history` lists every call with its cause.";
  return {
    level: "error",
    text: `${paint("error", "error:")} ${message}\n  ${paint("info", "hint:")} ${hint}\n`,
    message,
    code: "more-failures",
    facts: { changes, hint },
  };
}

/** What is told of an event; `undefined`: nothing. */
function entryOf(
  event: Event,
  { paint, hasWritten }: Pick<ProgressOptions, "paint"> & { readonly hasWritten: boolean },
): LogEntry | undefined {
  switch (event.type) {
    case "change_finished": {
      // Of a large plan these would be thousands of lines: causes are shown once, and the last line counts the rest.
      const { type, at: _at, failure, ...facts } = event;
      const level = event.outcome === "done" ? "info" : "debug";
      const code = failure?.code ?? type;
      return { level, text: `${formatFinished(event, paint)}\n`, code, facts };
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
        text: `${formatRunFinished(event, { paint, hasWritten })}\n`,
        code: typeof stopped === "object" ? stopped.code : type,
        facts: { run_id, totals, ms },
        isResult: true,
      };
    }
    case "planned":
    case "refresh_started":
    case "refresh_finished":
    case "run_started":
    case "change_excluded":
    case "change_started":
    case "call_finished":
    case "storage_call_finished":
    case "bound_announced":
    case "upload_progress":
    case "upload_finished":
      return undefined;
  }
}
