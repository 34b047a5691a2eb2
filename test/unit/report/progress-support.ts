import type { Event } from "../../../src/model/event.ts";
import type { LogEntry } from "../../../src/model/log.ts";
import type { LiveLines } from "../../../src/report/live-lines.ts";
import { isShown } from "../../../src/report/log-line.ts";
import { makePalette } from "../../../src/report/palette.ts";
import { makeProgress } from "../../../src/report/progress.ts";

export const totals = { done: 1, failed: 1, in_doubt: 1, deferred: 0, skipped: 1, calls: 7 };
const failure = {
  code: "validation-failed",
  message: "the service refused it",
  hint: "Fix the value.",
  errors: [{ title: "Bad", detail: "format \u001b[2J", source: { pointer: "/data/attributes/file_format" } }],
  stops: "operation",
} as const;

export const started = {
  type: "run_started",
  at: 0,
  run_id: "r",
  plan_id: "p",
  summary: { create: 2, publish: 1, noop: 9 },
  calls: 12,
} as const satisfies Event;
export const call = {
  type: "call_finished",
  at: 0,
  method: "POST",
  path: "/p",
  attempt: 1,
  outcome: "done",
  status: 201,
  ms: 20,
} as const satisfies Event;
export const stored = (source: string, sent: number, total: number): Event => ({
  type: "upload_progress",
  at: 0,
  source,
  sent,
  total,
});
export const waiting = (
  reason: "retry_after" | "backoff" | "upload" | "shared_bound",
  ms: number,
): Event => ({ type: "waiting", at: 0, reason, ms });
export const attached = {
  type: "change_finished",
  at: 400,
  address: "drafts/1/product_files/1",
  action: "create",
  outcome: "done",
  ms: 300,
  file_id: 1,
} as const satisfies Event;
export const rest: readonly Event[] = [
  {
    type: "change_finished",
    at: 600,
    address: "drafts/1/product_files/2",
    action: "create",
    outcome: "rejected",
    ms: 50,
    failure,
  },
  {
    type: "change_finished",
    at: 700,
    address: "drafts/1/product",
    action: "publish",
    outcome: "skipped",
    ms: 0,
    because: "drafts/1/product_files/2",
  },
  {
    type: "change_finished",
    at: 800,
    address: "drafts/2/product",
    action: "publish",
    outcome: "done",
    ms: 1500,
    product_id: 900,
  },
  { type: "run_finished", at: 900, run_id: "r", totals, ms: 2345 },
];

/** A progress display with a clock that the test moves. */
export function follow({
  isLive,
  addresses = [],
  limit = 10,
  windowMs = 1000,
}: {
  isLive: boolean;
  /** The address of every change of the run. */
  addresses?: readonly string[];
  limit?: number;
  windowMs?: number;
}) {
  let now = 0;
  let render: LiveLines | undefined;
  let tick: { readonly every: number; readonly work: () => void; nextAt: number } | undefined;
  const entries: LogEntry[] = [];
  const progress = makeProgress({
    log: (entry) => {
      entries.push(entry);
      return isShown(entry, "normal");
    },
    paint: makePalette(false),
    nameOf: () => ({}),
    locationOf: (address, attribute) =>
      attribute === "file_format" && address === "drafts/1/product_files/2"
        ? { file: "a.yaml", line: 3, column: 18 }
        : undefined,
    live: isLive
      ? {
          show: (next) => {
            render = next;
          },
          hide: () => {
            render = undefined;
          },
        }
      : undefined,
    addresses: isLive ? addresses : undefined,
    bound: { limit, windowMs },
    now: () => now,
    every: (every, work) => {
      tick = { every, work, nextAt: now + every };
      return () => {
        tick = undefined;
      };
    },
  });
  return {
    emit: (...events: readonly Event[]) => events.forEach(progress.emit),
    stop: () => progress.stop(),
    pass: (ms: number) => {
      const until = now + ms;
      while (tick !== undefined && tick.nextAt <= until) {
        now = tick.nextAt;
        tick.nextAt += tick.every;
        tick.work();
      }
      now = until;
    },
    ticks: () => tick?.every,
    lines: (columns = 79) => render?.(columns).map(({ text }) => text.replace(/\[[█░]+\] /, "")),
    widths: (columns: number) => render?.(columns).map(({ width }) => width),
    bars: (columns = 79) => render?.(columns).map(({ text }) => (text.match(/█/g) ?? []).length),
    entries,
    log: () => entries.map((entry) => (isShown(entry, "normal") ? entry.text : "")).join(""),
    verbose: () => entries.map(({ text }) => text).join(""),
  };
}
