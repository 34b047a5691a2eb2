import { parseAddress } from "../model/address.ts";
import type { Event } from "../model/event.ts";
import type { ApiError, CallFailure } from "../model/outcome.ts";
import type { Place } from "../model/position.ts";
import { formatPlace } from "../model/position.ts";
import { symbols } from "./change-view.ts";
import { inertLine } from "./inert-text.ts";
import type { Palette, Tone } from "./palette.ts";
import { formatCount, formatMilliseconds, formatSeconds, plural } from "./quantities.ts";
import type { WaitState } from "./run-state.ts";

/** Finds the manifest line that an address, or one of its attributes, comes from. */
export type PlaceFinder = (address: string, attribute?: string) => Place | undefined;

type Finished = Extract<Event, { type: "change_finished" }>;

const past: Readonly<Record<Finished["action"], string>> = {
  create: "attached",
  update: "updated",
  replace: "replaced",
  adopt: "recorded",
  delete: "detached",
  publish: "published",
  duplicate: "duplicated",
  forget: "forgotten",
  in_doubt: "settled",
  noop: "unchanged",
};

/** What became of a change: a line, with the service's own words and the manifest line below it when it failed. */
export function formatFinished(event: Finished, paint: Palette, placeOf: PlaceFinder): string {
  const address = inertLine(event.address);
  const symbol = symbols[event.action].padStart(3);
  switch (event.outcome) {
    case "done": {
      const product = event.product_id === undefined ? "" : ` as product ${event.product_id}`;
      const time = paint("muted", `(${formatMilliseconds(event.ms)})`);
      const isDraft = parseAddress(event.address)?.type === "draft";
      const verb = isDraft ? "protection recorded" : past[event.action];
      return `${paint("added", symbol)} ${address} ${verb}${product} ${time}`;
    }
    case "deferred":
    case "skipped":
      return `${paint("muted", symbol)} ${address} ${paint("warning", "skipped")} because of ${inertLine(event.because ?? "")}`;
    case "rejected":
    case "not_sent":
    case "unknown": {
      const word = event.outcome === "unknown" ? "in doubt" : "failed";
      const lines = [`${paint("error", symbol)} ${address} ${paint("error", word)}`];
      if (event.failure !== undefined)
        lines.push(...formatFailure(event.address, event.failure, { paint, placeOf }));
      return lines.join("\n");
    }
  }
}

interface FailureOptions {
  readonly paint: Palette;
  readonly placeOf: PlaceFinder;
}

function formatFailure(address: string, failure: CallFailure, { paint, placeOf }: FailureOptions): string[] {
  const lines = [`      ${inertLine(failure.message)}  ${paint("muted", `[${failure.code}]`)}`];
  for (const error of failure.errors) lines.push(...formatApiError(address, error, { paint, placeOf }));
  if (failure.errors.length === 0) {
    const place = placeOf(address);
    if (place !== undefined) lines.push(`      ${paint("muted", "-->")} ${inertLine(formatPlace(place))}`);
  }
  if (failure.hint !== undefined) lines.push(`      ${paint("info", "hint:")} ${inertLine(failure.hint)}`);
  return lines;
}

/** A JSON:API error object; its pointer leads to the line of the manifest that holds the value. */
function formatApiError(address: string, error: ApiError, { paint, placeOf }: FailureOptions): string[] {
  const { title, detail, source } = error;
  const words = [title, detail].filter((text) => text !== undefined && text !== "").join(": ");
  const pointer = source?.pointer;
  const attribute = pointer === undefined ? undefined : /^\/data\/attributes\/([^/]+)$/.exec(pointer)?.[1];
  const place = placeOf(address, attribute);
  const lines = [
    `      ${paint("muted", "service:")} ${inertLine(words)}${pointer === undefined ? "" : paint("muted", ` (${inertLine(pointer)})`)}`,
  ];
  if (place !== undefined) lines.push(`      ${paint("muted", "-->")} ${inertLine(formatPlace(place))}`);
  return lines;
}

const waits: Readonly<Record<WaitState["reason"], string>> = {
  retry_after: "the service asks to wait",
  shared_bound: "other runs use the rate bound",
  rate_bound: "the rate bound",
  backoff: "waiting before another try",
  settle: "waiting to find out whether a lost call took effect",
  upload: "waiting for uploads to be processed",
};

/** What is being waited for: `paused 12 s: the service asks to wait`. */
export function formatWaiting(event: Extract<Event, { type: "waiting" }>): string {
  return `paused ${formatMilliseconds(event.ms)}: ${waits[event.reason]}`;
}

/** What is being waited for, in whole seconds: what may last any time, or is over in one, has none. */
export function formatWait({ reason, leftMs }: WaitState): string {
  const left = formatSeconds(Math.ceil(leftMs / 1000));
  switch (reason) {
    case "rate_bound":
      return leftMs > 2_000 ? `waiting ${left} for ${waits[reason]}` : `waiting for ${waits[reason]}`;
    case "upload":
      return waits[reason];
    case "retry_after":
    case "shared_bound":
    case "backoff":
    case "settle":
      return `paused ${left}: ${waits[reason]}`;
  }
}

/**
 * The last line of a run, and below it what to do after an interrupt. `hasWritten`: whether a call has changed something at the
 * service; a change that failed may have made some of its calls.
 */
export function formatRunFinished(
  { totals, ms, stopped }: Extract<Event, { type: "run_finished" }>,
  { paint, hasWritten }: { readonly paint: Palette; readonly hasWritten: boolean },
): string {
  const { done, failed, in_doubt, skipped, left, calls } = totals;
  const isNothing = !hasWritten && done + in_doubt === 0;
  const part = (tone: Tone, count: number, what: string) =>
    count === 0 ? [] : [paint(tone, `${formatCount(count)} ${what}`)];
  const others = [
    ...part("error", failed, "failed"),
    ...part("warning", in_doubt, "in doubt"),
    ...part("warning", skipped, "skipped"),
    ...part("warning", left, "left for the next run"),
  ];
  const isWhole = stopped === undefined && others.length === 0;
  const counts = isNothing && !isWhole ? others : [paint("added", `${formatCount(done)} done`), ...others];
  const head = isWhole ? "Applied:" : isNothing ? "Nothing was applied:" : "Applied in part:";
  const line = `${paint("strong", head)} ${counts.join(", ")}. ${plural(calls, "call")} in ${formatMilliseconds(ms)}.`;
  return stopped === "interrupted"
    ? `${line}\nInterrupted: what is left stands in the next \`draftsync plan\`.`
    : line;
}

/** Whether a change was not even begun, because the whole run was stopped: the last line counts it. */
export function isLeftByStop({ outcome, because }: Finished): boolean {
  return outcome === "skipped" && because !== undefined && parseAddress(because) === undefined;
}
