import { actionTable } from "../model/action.ts";
import { draftIdOf } from "../model/address.ts";
import type { Event, EventSink } from "../model/event.ts";
import { append } from "../model/lists.ts";
import type { LogEntry } from "../model/log.ts";
import {
  describeFailures,
  type FailedItem,
  type FailureOptions,
  sortFailures,
  substanceOfFailures,
} from "./failures.ts";
import { formatLive, formatStatus, type LiveDisplay } from "./live-lines.ts";
import type { Palette } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import {
  describeOtherValues,
  endOf,
  type Finished,
  formatFinished,
  formatRunFinished,
  formatWaiting,
  hasOtherValues,
  type OtherValues,
} from "./progress-text.ts";
import { formatCount, formatMilliseconds } from "./quantities.ts";
import { type RateBound, RunState } from "./run-state.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** The outputs and clocks of progress. */
export interface ProgressOptions extends FailureOptions {
  /** Returns whether the entry is shown: `--quiet` hides most of them. */
  readonly log: (entry: LogEntry) => boolean;
  /** Lines that are redrawn below the finished changes; if absent, the log gets a status line from time to time. */
  readonly live: LiveDisplay | undefined;
  /** Of all changes that the run may make: each draft then has one line. If absent, each change has one. */
  readonly addresses?: readonly string[] | undefined;
  /** Whether failures are worth showing, by their substance; if absent, they are. */
  readonly isNews?: ((substance: string) => boolean) | undefined;
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

/** Shows a run on standard error. */
export function makeProgress(options: ProgressOptions): Progress {
  const { log, paint, live, now } = options;
  const state = new RunState(options.bound);
  const drafts = options.addresses && new DraftLines(options.addresses, paint);
  const failed: FailedItem[] = [];
  const otherValues = new Map<OtherValues["type"], OtherValues[]>();
  const waits = new Map<string, number>();
  let stopTicking: (() => void) | undefined;
  let nextStatusAt = Number.POSITIVE_INFINITY;
  let isFirst = true;

  const write = (entry: LogEntry) => {
    if (log(entry)) isFirst = false;
  };
  /** An empty line between paragraphs, and none at the start. */
  const writeParagraph = (entry: LogEntry) => write(isFirst ? entry : { ...entry, text: `\n${entry.text}` });
  const writeLines = (lines: readonly string[]) => {
    for (const line of lines) write({ level: "info", text: `${line}\n` });
  };
  const draw = () => live?.show((columns) => formatLive(state, { now: now(), columns, paint }));
  const reportStatus = () => {
    if (now() < nextStatusAt) return;
    nextStatusAt = now() + nextStatusMs;
    const message = formatStatus(state, now());
    if (message !== "") write({ level: "info", text: `    ${message}\n`, message, code: "progress" });
  };
  /** Live lines show waits. In a log, those for the same reason that end about together are one. */
  const isShownWait = (event: Event) => {
    if (event.type !== "waiting") return false;
    if (live !== undefined) return true;
    const until = now() + event.ms;
    if (until - (waits.get(event.reason) ?? 0) < event.ms / 10) return true;
    waits.set(event.reason, until);
    return false;
  };
  const begin = () => {
    if (stopTicking !== undefined) return;
    nextStatusAt = now() + firstStatusMs;
    stopTicking = live === undefined ? options.every(1000, reportStatus) : options.every(frameMs, draw);
    draw();
  };
  const stop = () => {
    stopTicking?.();
    stopTicking = undefined;
    live?.hide();
    writeLines(drafts?.rest() ?? []);
    for (const [type, events] of otherValues) writeParagraph(describeOtherValues(type, events, paint));
    otherValues.clear();
    const failures = sortFailures(failed.splice(0));
    if (failures.length === 0 || options.isNews?.(substanceOfFailures(failures)) === false) return;
    for (const entry of describeFailures(failures, options)) writeParagraph(entry);
  };
  const emit = (event: Event) => {
    if (event.type !== "planned") begin();
    state.take(event, now());
    if (hasOtherValues(event)) append(otherValues, event.type, event);
    if (event.type === "run_finished" || event.type === "refresh_finished") stop();
    if (event.type === "change_finished") {
      if (event.failure !== undefined) failed.push({ ...event, failure: event.failure });
      const lines = drafts?.take(event);
      if (lines !== undefined) return writeLines(lines);
    }
    const entry = entryOf(event, { paint, hasWritten: state.hasWritten });
    if (entry === undefined || isShownWait(event)) return;
    if (event.type === "run_finished") writeParagraph(entry);
    else write(entry);
  };
  return { emit, stop };
}

/** The log entry of an event, if it has one. */
function entryOf(
  event: Event,
  { paint, hasWritten }: { readonly paint: Palette; readonly hasWritten: boolean },
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
    default:
      return undefined;
  }
}

interface DraftChanges {
  expected: number;
  readonly ended: Finished[];
}

/** Collects the changes of each draft into one line, which is due when the last of them has ended. */
class DraftLines {
  readonly #drafts = new Map<number, DraftChanges>();
  readonly #paint: Palette;

  constructor(addresses: readonly string[], paint: Palette) {
    this.#paint = paint;
    for (const address of addresses) {
      const id = draftIdOf(address);
      if (id === undefined) continue;
      const draft = this.#drafts.get(id) ?? { expected: 0, ended: [] };
      draft.expected += 1;
      this.#drafts.set(id, draft);
    }
  }

  /** Returns the lines that are due now; `undefined` for the only change of a draft, which has a line of its own. */
  take(event: Finished): readonly string[] | undefined {
    const draft = this.#drafts.get(draftIdOf(event.address) ?? -1);
    if (draft === undefined || draft.expected === 1) return undefined;
    draft.ended.push(event);
    return draft.ended.length < draft.expected ? [] : this.#linesOf(draft);
  }

  /** The lines of the drafts that the run left before their last change. */
  rest(): readonly string[] {
    return [...this.#drafts.values()].flatMap((draft) => this.#linesOf(draft));
  }

  /** None if nothing was done: failures are shown by cause, and the rest is counted. */
  #linesOf({ ended }: DraftChanges): readonly string[] {
    const all = ended.splice(0);
    return all.some(({ outcome }) => outcome === "done") ? [formatDraft(all, this.#paint)] : [];
  }
}

/** `  ~ drafts/48213 · Sea Serpent  3 attached, 1 updated, published as product 9000000004 (2.1 s)` */
function formatDraft(ended: readonly Finished[], paint: Palette): string {
  const counts = new Map<string, number>();
  for (const event of ended) counts.set(endOf(event), (counts.get(endOf(event)) ?? 0) + 1);
  // What a draft has at most once needs no number.
  const ends = [...counts].map(([end, count]) =>
    /^(published|protection)/.test(end) ? end : `${formatCount(count)} ${end}`,
  );
  const [first] = ended;
  const isOneAction = ended.every(({ action }) => action === first?.action);
  const sign = actionTable[isOneAction && first !== undefined ? first.action : "update"].sign;
  const tone = ended.every(({ outcome }) => outcome === "done") ? "added" : "warning";
  const ms = Math.max(...ended.map(({ at }) => at)) - Math.min(...ended.map(({ at, ms }) => at - ms));
  const address = `drafts/${draftIdOf(first?.address ?? "")}`;
  const name = sanitizeLine(withTitle({ address, title: first?.title }));
  return `${paint(tone, sign.padStart(3))} ${name}  ${ends.join(", ")} ${paint("muted", `(${formatMilliseconds(ms)})`)}`;
}
