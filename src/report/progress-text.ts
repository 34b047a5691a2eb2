import { actionTable } from "../model/action.ts";
import { parseAddress } from "../model/address.ts";
import type { ResourceName } from "../model/change.ts";
import type { Event } from "../model/event.ts";
import type { ApiError, CallFailure } from "../model/outcome.ts";
import type { SourceLocation } from "../model/source-location.ts";
import { formatLocation } from "../model/source-location.ts";
import type { Palette, Tone } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import { formatCount, formatMilliseconds, formatSeconds, plural } from "./quantities.ts";
import type { WaitState } from "./run-state.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** Finds the manifest line that an address, or one of its attributes, comes from. */
export type LocationFinder = (address: string, attribute?: string) => SourceLocation | undefined;

type Finished = Extract<Event, { type: "change_finished" }>;

/** A file of which the service returned other values than were sent. */
export type ValuesDiffer = Extract<Event, { type: "values_differ" }>;

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

/** How failures are shown. */
export interface FailureOptions {
  readonly paint: Palette;
  readonly nameOf: (address: string) => ResourceName;
  readonly locationOf: LocationFinder;
}

/**
 * What failed, or is in doubt, for one cause:
 *
 * ```
 * error: the service rejected the request as invalid (422)  [invalid]
 *   service: Not valid: no such renderer (/data/attributes/renderer)
 *   12 changes failed:
 *     drafts/48213/product_files/9900011 · Dragon (manifests/dragon.yaml:5:17)
 *     and 11 more; --verbose lists them
 *   hint: Correct the values that the errors name.
 * ```
 */
export function formatFailureGroup(group: FailureGroup<CallFailure>, options: FailureOptions): string {
  const { paint } = options;
  const { isDoubt, failure, count, addresses } = group;
  const label = isDoubt ? paint("warning", "in doubt:") : paint("error", "error:");
  const service = failure.errors.map((error) => `  ${paint("muted", "service:")} ${formatApiError(error)}`);
  const what = `${plural(count, "change")}${isDoubt ? "" : " failed"}`;
  const named = addresses.map((address) => `    ${formatWhere(address, failure, options)}`);
  const more = count - addresses.length;
  const stops = failure.stops === "run" ? ", and the run stopped" : "";
  // A failure that stops the run is not about the changes that met it first; a doubt is.
  const affected =
    stops !== "" && !isDoubt
      ? [`  ${what}${stops}.`]
      : [
          `  ${what}${stops}:`,
          ...named,
          ...(more > 0 ? [`    and ${formatCount(more)} more; --verbose lists them`] : []),
        ];
  return [
    `${label} ${sanitizeLine(withoutDetail(failure))}  ${paint("muted", `[${failure.code}]`)}`,
    ...service,
    ...affected,
    ...(failure.hint === undefined ? [] : [`  ${paint("info", "hint:")} ${sanitizeLine(hintFor(group))}`]),
  ].join("\n");
}

/** So many files of which the service returned other values are listed. */
const maxListedFiles = 3;

/** The values that the service changed or did not take, of the first files. */
export function formatOtherValues(
  events: readonly ValuesDiffer[],
  { message, paint }: { readonly message: string; readonly paint: Palette },
): string {
  const shown = (text: string) =>
    sanitizeLine(JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text));
  const lines = events.slice(0, maxListedFiles).map((event) => {
    const values = event.values.map(
      ({ name, sent, returned }) => `${name} ${shown(returned)} for ${shown(sent)}`,
    );
    return `    ${sanitizeLine(withTitle(event))}: ${values.join(", ")}`;
  });
  const more = events.length - lines.length;
  return [
    `${paint("warning", "warning:")} ${message}  ${paint("muted", "[values-differ]")}`,
    ...lines,
    ...(more > 0 ? [`    and ${formatCount(more)} more; --json lists them`] : []),
    `  ${paint("info", "hint:")} Check the files at the service. To take over its values, write them into the manifest.`,
  ].join("\n");
}

/** A hint with a command to copy, when there is one address that it can be about. */
function hintFor({ failure, count, addresses }: FailureGroup<CallFailure>): string {
  const [address] = addresses;
  const hint = failure.hint ?? "";
  return count === 1 && address !== undefined ? hint.replace("ADDRESS", address) : hint;
}

/** The cause without the text of the service's errors, which have lines of their own. */
function withoutDetail(failure: CallFailure): string {
  const cause = causeOf(failure);
  const detail = failure.errors
    .map((error) => error.detail ?? error.title ?? "")
    .filter((text) => text !== "");
  const end = `: ${detail.join("; ")}`;
  return detail.length > 0 && cause.endsWith(end) ? cause.slice(0, -end.length) : cause;
}

/** An address and the line of the manifest that holds it, or the value that the service's pointer names. */
function formatWhere(
  address: string,
  { errors }: CallFailure,
  { nameOf, locationOf }: FailureOptions,
): string {
  const attributes = errors.flatMap(({ source }) => {
    const name = /^\/data\/attributes\/([^/]+)$/.exec(source?.pointer ?? "")?.[1];
    return name === undefined ? [] : [name];
  });
  const { title, declared_at } = nameOf(address);
  const location = locationOf(address, attributes[0]);
  const place = location === undefined ? declared_at : formatLocation(location);
  const name = sanitizeLine(withTitle({ address, title }));
  return place === undefined ? name : `${name} (${sanitizeLine(place)})`;
}

/** A JSON:API error object. */
function formatApiError({ title, detail, source }: ApiError): string {
  const text = [title, detail].filter((part) => part !== undefined && part !== "").join(": ");
  const pointer = source?.pointer;
  return sanitizeLine(pointer === undefined ? text : `${text} (${pointer})`);
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
export function formatWaiting(event: Extract<Event, { type: "waiting" }>): string {
  const { reason, ms } = event;
  const time = formatMilliseconds(ms);
  return reason === "retry_after"
    ? `${waits[reason]}; retrying in ${time}`
    : `paused ${time}: ${waits[reason]}`;
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
      return `${waits[reason]}; retrying in ${left}`;
    case "ledger":
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

/** Something that did not end well, by its address. */
export interface FailedItem {
  readonly address: string;
  /** `unknown` is in doubt; anything else failed. */
  readonly outcome: string;
  readonly failure: GroupedFailure;
}

/** The members of a {@link CallFailure} that tell one cause from another. */
export type GroupedFailure = Pick<CallFailure, "code" | "message"> & Partial<CallFailure>;

/** Everything that failed, or is in doubt, for one cause. */
export interface FailureGroup<F extends GroupedFailure = GroupedFailure> {
  readonly isDoubt: boolean;
  /** That of the first, or of one that stopped the run. */
  readonly failure: F;
  readonly count: number;
  /** The first few. */
  readonly addresses: readonly string[];
}

/** Addresses that a group names. */
const maxAddresses = 5;

interface OpenGroup<F extends GroupedFailure> {
  readonly isDoubt: boolean;
  failure: F;
  readonly addresses: string[];
  count: number;
}

/** Counts failures by their cause: the same outcome, code, sentence, hint and errors of the service. */
export class FailureGroups<F extends GroupedFailure = GroupedFailure> {
  readonly #groups = new Map<string, OpenGroup<F>>();

  add({ address, outcome, failure }: FailedItem & { readonly failure: F }): void {
    const isDoubt = outcome === "unknown";
    const { code, hint, errors = [] } = failure;
    const key = JSON.stringify([isDoubt, code, causeOf(failure), hint, errors.map(substanceOf)]);
    const group = this.#groups.get(key) ?? { isDoubt, failure, addresses: [], count: 0 };
    group.count += 1;
    if (failure.stops === "run") group.failure = failure;
    if (group.addresses.length < maxAddresses) group.addresses.push(address);
    this.#groups.set(key, group);
  }

  /** Returns the groups, in the order of their first failures, and starts again. */
  take(): readonly FailureGroup<F>[] {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    return groups;
  }
}

/** The sentence of a failure without the request or the file that it begins with. */
export function causeOf({ message, subject }: GroupedFailure): string {
  const lead = `${subject}: `;
  return subject !== undefined && message.startsWith(lead) ? message.slice(lead.length) : message;
}

/** Without members that are the answer's own, such as `id`. */
function substanceOf({ status, code, title, detail, source }: ApiError) {
  return [status, code, title, detail, source?.pointer, source?.parameter, source?.header];
}
