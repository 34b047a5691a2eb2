import { actionTable } from "../model/action.ts";
import { draftIdOf } from "../model/address.ts";
import type { Event, EventSink } from "../model/event.ts";
import type { LogEntry } from "../model/log.ts";
import type { CallFailure } from "../model/outcome.ts";
import { formatLive, formatStatus, type LiveDisplay } from "./live-lines.ts";
import type { Palette } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import type { FailureOptions, LocationFinder } from "./progress-text.ts";
import {
  causeOf,
  endOf,
  type FailureGroup,
  FailureGroups,
  formatFailureGroup,
  formatFinished,
  formatOtherValues,
  formatRunFinished,
  formatWaiting,
  type ValuesDiffer,
} from "./progress-text.ts";
import { formatCount, formatMilliseconds, plural } from "./quantities.ts";
import { type RateBound, RunState } from "./run-state.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** The outputs and clocks of progress. */
export interface ProgressOptions {
  /** Returns whether the entry is shown: `--quiet` hides most of them. */
  readonly log: (entry: LogEntry) => boolean;
  readonly paint: Palette;
  readonly nameOf: FailureOptions["nameOf"];
  readonly locationOf: LocationFinder;
  /** Lines that are redrawn below the finished changes; if absent, the log gets a status line from time to time. */
  readonly live: LiveDisplay | undefined;
  /** Shows the changes of a draft in one line; if absent, each change has a line. */
  readonly drafts?: FinishedDrafts | undefined;
  /** The configured rate limit. */
  readonly bound: RateBound;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Calls `work` every `ms` milliseconds until the returned function is called. */
  readonly every: (ms: number, work: () => void) => () => void;
}

/**
 * Shows events as they arrive, and failures at the end, by cause. Every exit must call `stop`, which erases the live lines and
 * shows the failures so far.
 */
export interface Progress {
  readonly emit: EventSink;
  stop(): void;
}

/** Milliseconds between frames of the live lines; unchanged frames are not written. */
const frameMs = 100;
/** The first status line in a log, and the time between the next ones, milliseconds. */
const firstStatusMs = 10_000;
const nextStatusMs = 30_000;
/** Shorter waits are not logged, milliseconds. */
const longWaitMs = 2000;

/** Causes that are shown completely. */
const maxGroups = 10;

/** Shows a run on standard error. */
export function makeProgress(options: ProgressOptions): Progress {
  const { log, paint, live, now, drafts } = options;
  const state = new RunState(options.bound);
  const failures = new FailureGroups<CallFailure>();
  const otherValues: ValuesDiffer[] = [];
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
  const writeDraft = (line: string) => write({ level: "info", text: `${line}\n` });
  /** An empty line between paragraphs, and none at the start. */
  const writeParagraph = (entry: LogEntry) => write(isFirst ? entry : { ...entry, text: `\n${entry.text}` });
  const reportFailures = () => {
    const groups = failures.take();
    for (const group of groups.slice(0, maxGroups)) writeParagraph(describeGroup(group, options));
    const others = groups.slice(maxGroups);
    if (others.length > 0) writeParagraph(describeOthers(others, paint));
  };
  const stop = () => {
    stopTicking?.();
    stopTicking = undefined;
    live?.hide();
    for (const line of drafts?.rest() ?? []) writeDraft(line);
    const others = otherValues.splice(0);
    if (others.length > 0) writeParagraph(describeOtherValues(others, paint));
    reportFailures();
  };
  /** What is shown at the end. */
  const collect = (event: Event) => {
    if (event.type === "values_differ") otherValues.push(event);
    if (event.type === "change_finished" && event.failure !== undefined)
      failures.add({ ...event, failure: event.failure });
  };
  const emit = (event: Event) => {
    if (event.type !== "planned") begin();
    state.take(event, now());
    collect(event);
    if (event.type === "run_finished" || event.type === "refresh_finished") stop();
    if (event.type === "change_finished" && drafts?.gathers(event)) {
      const line = drafts.take(event);
      if (line !== undefined) writeDraft(line);
      return;
    }
    const entry = entryOf(event, { paint, hasWritten: state.hasWritten });
    if (entry === undefined || (event.type === "waiting" && live !== undefined)) return;
    if (event.type === "run_finished") writeParagraph(entry);
    else write(entry);
  };
  return { emit, stop };
}

function describeGroup(group: FailureGroup<CallFailure>, options: FailureOptions): LogEntry {
  const { failure, isDoubt, count, addresses } = group;
  const { code, hint, errors } = failure;
  return {
    level: "error",
    text: `${formatFailureGroup(group, options)}\n`,
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

function describeOtherValues(events: readonly ValuesDiffer[], paint: Palette): LogEntry {
  const message = `the service returned other values than were sent, for ${plural(events.length, "file")}`;
  return {
    level: "warning",
    text: `${formatOtherValues(events, { message, paint })}\n`,
    message,
    code: "values-differ",
    facts: { addresses: events.map(({ address }) => address) },
  };
}

/** The log entry of an event, if it has one. */
function entryOf(
  event: Event,
  { paint, hasWritten }: Pick<ProgressOptions, "paint"> & { readonly hasWritten: boolean },
): LogEntry | undefined {
  switch (event.type) {
    case "change_finished": {
      // A large plan would log thousands of lines: each cause is shown once, and the last line counts the rest.
      const { type, at: _at, failure, ...facts } = event;
      const level = event.outcome === "done" ? "info" : "debug";
      const code = failure?.code ?? type;
      return { level, text: `${formatFinished(event, paint)}\n`, code, facts };
    }
    case "waiting": {
      const { reason, ms } = event;
      // Polls are frequent, and the status line shows them.
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
    case "values_differ":
    case "bound_announced":
    case "upload_progress":
    case "upload_finished":
    case "reconcile_finished":
      return undefined;
  }
}

type Finished = Extract<Event, { type: "change_finished" }>;
type Ended = [Finished, ...Finished[]];

/**
 * Gathers the changes of each draft into one line, which is due when the last of them has ended:
 *
 * ```
 *   ~ drafts/48213 · Sea Serpent  3 attached, 1 updated, published as product 9000000004 (2.1 s)
 * ```
 */
export class FinishedDrafts {
  readonly #expected = new Map<number, number>();
  readonly #ended = new Map<number, Ended>();
  readonly #paint: Palette;

  /** `addresses`: of all changes that the run may make. */
  constructor(addresses: readonly string[], paint: Palette) {
    this.#paint = paint;
    for (const address of addresses) {
      const id = draftIdOf(address);
      if (id !== undefined) this.#expected.set(id, (this.#expected.get(id) ?? 0) + 1);
    }
  }

  /** Whether the change is one of several of its draft: then it has no line of its own. */
  gathers({ address }: Finished): boolean {
    return (this.#expected.get(draftIdOf(address) ?? -1) ?? 0) > 1;
  }

  /** A change that is gathered has ended. Returns the line of its draft, if it was the last and something was done. */
  take(event: Finished): string | undefined {
    const id = draftIdOf(event.address) ?? -1;
    const ended = this.#ended.get(id);
    if (ended === undefined) this.#ended.set(id, [event]);
    else ended.push(event);
    if (ended === undefined || ended.length < (this.#expected.get(id) ?? 0)) return undefined;
    this.#ended.delete(id);
    return this.#line(ended);
  }

  /** The lines of the drafts that the run has left before their last change. */
  rest(): readonly string[] {
    const left = [...this.#ended.values()];
    this.#ended.clear();
    return left.flatMap((ended) => this.#line(ended) ?? []);
  }

  /** Where nothing was done there is nothing to say: failures are shown by cause, and the rest is counted. */
  #line(ended: Ended): string | undefined {
    return ended.some(({ outcome }) => outcome === "done") ? formatDraft(ended, this.#paint) : undefined;
  }
}

function formatDraft(ended: Readonly<Ended>, paint: Palette): string {
  const counts = new Map<string, number>();
  for (const event of ended) counts.set(endOf(event), (counts.get(endOf(event)) ?? 0) + 1);
  const ends = [...counts].map(([end, count]) => (isSingle(end) ? end : `${formatCount(count)} ${end}`));
  const [{ address, title, action }] = ended;
  const sign = ended.every((event) => event.action === action) ? actionTable[action].sign : "~";
  const tone = ended.every(({ outcome }) => outcome === "done") ? "added" : "warning";
  const ms = Math.max(...ended.map(({ at }) => at)) - Math.min(...ended.map(({ at, ms }) => at - ms));
  const name = sanitizeLine(withTitle({ address: `drafts/${draftIdOf(address)}`, title }));
  return `${paint(tone, sign.padStart(3))} ${name}  ${ends.join(", ")} ${paint("muted", `(${formatMilliseconds(ms)})`)}`;
}

/** What a draft has at most once needs no number. */
function isSingle(end: string): boolean {
  return /^(published|protection)/.test(end);
}
