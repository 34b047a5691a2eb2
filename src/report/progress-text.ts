import { actionTable } from "../model/action.ts";
import { parseAddress } from "../model/address.ts";
import type { Event } from "../model/event.ts";
import type { LogEntry } from "../model/log.ts";
import type { Palette, Tone } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import { formatCount, formatMilliseconds, formatSeconds, plural } from "./quantities.ts";
import type { WaitState } from "./run-state.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** A change that ended. */
export type Finished = Extract<Event, { type: "change_finished" }>;

/** How a change ended, in one line. */
export function formatFinished(event: Finished, paint: Palette): string {
  const symbol = actionTable[event.action].sign.padStart(3);
  const name = sanitizeLine(withTitle(event));
  const cause = event.failure === undefined ? "" : `: ${sanitizeLine(event.failure.message)}`;
  const end = endOf(event);
  switch (event.outcome) {
    case "done":
      return `${paint("added", symbol)} ${name} ${end} ${paint("muted", `(${formatMilliseconds(event.ms)})`)}`;
    case "skipped":
      return `${paint("muted", symbol)} ${name} ${paint("warning", end)}: ${reasonOf(event)}`;
    case "deferred":
      return `${paint("muted", symbol)} ${name} ${paint("warning", end)} to the next run`;
    case "rejected":
    case "not_sent":
    case "unknown":
      return `${paint("error", symbol)} ${name} ${paint("error", end)}${cause}`;
  }
}

/** How a change ended, in a few words. */
export function endOf(event: Finished): string {
  switch (event.outcome) {
    case "done": {
      if (parseAddress(event.address)?.type === "draft") return "protection recorded";
      if (event.was_attached) return "was attached already";
      if (event.stays_attached) return "stays attached, for another entry";
      const product = event.product_id === undefined ? "" : ` as product ${event.product_id}`;
      return `${actionTable[event.action].done}${product}`;
    }
    case "skipped":
    case "deferred":
      return event.outcome;
    case "unknown":
      return "in doubt";
    case "rejected":
    case "not_sent":
      return event.failure?.code === "maybe-published" ? "left out" : "failed";
  }
}

/** Why a change was skipped: something else failed, or the run was stopped. */
function reasonOf({ because = "" }: Finished): string {
  if (because === "interrupted") return "the run was interrupted";
  if (because === "stopped") return "the run stopped";
  const isAddress = parseAddress(because) !== undefined;
  return isAddress
    ? `${sanitizeLine(because)} did not succeed`
    : `the run stopped (${sanitizeLine(because)})`;
}

/** A file of which the service returned other values than were sent, or had others than were declared. */
export type OtherValues = Extract<Event, { type: "values_differ" | "values_replaced" }>;

/** Whether an event is one of {@link OtherValues}. */
export function hasOtherValues(event: Event): event is OtherValues {
  return event.type === "values_differ" || event.type === "values_replaced";
}

const otherValues = {
  values_differ: {
    code: "values-differ",
    what: "the service returned other values than were sent",
    hint: "Check the files at the service. To take over its values, write them into the manifest.",
  },
  values_replaced: {
    code: "values-replaced",
    what: "values at the service that were not those of the ledger were replaced by the declared ones",
    hint: "A person may have changed them. To keep such a value, write it into the manifest.",
  },
};

/** Files of which the service returned other values that are listed. */
const maxListedFiles = 3;

/** The values that the service changed or did not take, or that were replaced, of the first files; the events have one type. */
export function describeOtherValues(
  type: OtherValues["type"],
  events: readonly OtherValues[],
  paint: Palette,
): LogEntry {
  const { code, what, hint } = otherValues[type];
  const message = `${what}, for ${plural(events.length, "file")}`;
  const shown = (text: string) =>
    sanitizeLine(JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text));
  const lines = events.slice(0, maxListedFiles).map((event) => {
    const values = event.values.map(
      ({ name, sent, returned }) => `${name} ${shown(returned)} for ${shown(sent)}`,
    );
    return `    ${sanitizeLine(withTitle(event))}: ${values.join(", ")}\n`;
  });
  const more = events.length - lines.length;
  if (more > 0) lines.push(`    and ${formatCount(more)} more; --json lists them\n`);
  const head = `${paint("warning", "warning:")} ${message}  ${paint("muted", `[${code}]`)}`;
  return {
    level: "warning",
    text: `${head}\n${lines.join("")}  ${paint("info", "hint:")} ${hint}\n`,
    message,
    code,
    facts: { addresses: events.map(({ address }) => address) },
  };
}

const waits: Readonly<Record<WaitState["reason"], string>> = {
  ledger: "the database of the ledger does not answer",
  retry_after: "rate limited",
  shared_bound: "other runs, or calls without a response, use the rate limit",
  rate_bound: "the rate limit",
  backoff: "waiting before another try",
  settle: "waiting until a lost call can no longer take effect",
  upload: "waiting for uploads to be processed",
};

/** What is being waited for: `rate limited; retrying in 12 s`. */
export function formatWaiting({ reason, ms }: Extract<Event, { type: "waiting" }>): string {
  return describeWait(reason, formatMilliseconds(ms));
}

/** What is being waited for, in whole seconds: what may last any time, or is over in one, has none. */
export function formatWait({ reason, leftMs }: WaitState): string {
  const left = formatSeconds(Math.ceil(leftMs / 1000));
  if (reason === "upload") return waits[reason];
  if (reason !== "rate_bound") return describeWait(reason, left);
  return leftMs > 2_000 ? `waiting ${left} for ${waits[reason]}` : `waiting for ${waits[reason]}`;
}

function describeWait(reason: WaitState["reason"], time: string): string {
  return reason === "retry_after"
    ? `${waits[reason]}; retrying in ${time}`
    : `paused ${time}: ${waits[reason]}`;
}

/**
 * The last line of a run, and below it what to do after an interrupt. `hasWritten`: whether a call has changed something at the
 * service; a change that failed may have made some of its calls.
 */
export function formatRunFinished(
  { totals, ms, stopped }: Extract<Event, { type: "run_finished" }>,
  { paint, hasWritten }: { readonly paint: Palette; readonly hasWritten: boolean },
): string {
  const { done, failed, in_doubt, skipped, deferred, calls } = totals;
  const isNothing = !hasWritten && done + in_doubt === 0;
  const part = (tone: Tone, count: number, what: string) =>
    count === 0 ? [] : [paint(tone, `${formatCount(count)} ${what}`)];
  const others = [
    ...part("error", failed, "failed"),
    ...part("warning", in_doubt, "in doubt"),
    ...part("warning", skipped, "skipped"),
    ...part("warning", deferred, "left for the next run"),
  ];
  const isWhole = stopped === undefined && others.length === 0;
  const counts = isNothing && !isWhole ? others : [paint("added", `${formatCount(done)} done`), ...others];
  const head = isWhole ? "Applied:" : isNothing ? "Nothing was applied:" : "Applied in part:";
  const line = `${paint("strong", head)} ${counts.join(", ")}. ${plural(calls, "call")} in ${formatMilliseconds(ms)}.`;
  return stopped === "interrupted"
    ? `${line}\nInterrupted. Run \`draftsync plan\` to see what's left.`
    : line;
}
