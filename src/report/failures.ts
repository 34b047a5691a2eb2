import { parseAddress, quoteArgument, targetAt } from "../model/address.ts";
import type { ResourceName } from "../model/change.ts";
import type { LogEntry } from "../model/log.ts";
import { type ApiError, type CallFailure, causeOf } from "../model/outcome.ts";
import { fileResource } from "../model/resource.ts";
import { formatLocation, type SourceLocation } from "../model/source-location.ts";
import type { Palette } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import { formatCount, plural } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** A failure of a call of this run, or one in the history, which has fewer members. */
export type Failure = Pick<CallFailure, "code" | "message"> & Partial<CallFailure>;

/** Something that did not end well. */
export interface FailedItem {
  readonly address: string;
  /** `unknown` is in doubt; anything else failed. */
  readonly outcome: string;
  readonly failure: Failure;
  /** Of a file that is known. */
  readonly file_id?: number;
}

/** Everything that failed, or is in doubt, for one cause. */
export interface FailureGroup {
  readonly isDoubt: boolean;
  /** That of the first, or of one that stopped the run. */
  readonly failure: Failure;
  readonly addresses: readonly string[];
  /** What `draftsync resolve` takes for each of them. */
  readonly settledBy: readonly string[];
}

/**
 * Groups failures by their cause (the same outcome, code, sentence, hint and errors), in the order of the first of each. What
 * stops a run is one cause, with or without a response: calls that are in flight then get one, and others are not sent.
 */
export function groupFailures(items: readonly FailedItem[]): readonly FailureGroup[] {
  const groups = new Map<
    string,
    FailureGroup & { failure: Failure; addresses: string[]; settledBy: string[] }
  >();
  const stopping = new Set(items.flatMap(({ failure: { code, stops } }) => (stops === "run" ? [code] : [])));
  for (const { address, outcome, failure, file_id } of items) {
    const isDoubt = outcome === "unknown";
    const { code, hint, errors = [] } = failure;
    // Other members, such as `id`, belong to one response.
    const causes = errors.map(({ status, code, title, detail, source }) => [
      ...[status, code, title, detail],
      ...[source?.pointer, source?.parameter, source?.header],
    ]);
    const isStop = !isDoubt && stopping.has(code);
    const key = JSON.stringify(isStop ? code : [isDoubt, code, causeOf(failure), hint, causes]);
    const group = groups.get(key) ?? { isDoubt, failure, addresses: [], settledBy: [] };
    if (failure.stops === "run") group.failure = failure;
    group.addresses.push(address);
    group.settledBy.push(file_id === undefined ? address : fileResource(targetAt(address, file_id)));
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Addresses that a group names. */
export const maxNamedAddresses = 5;

/** Causes that are shown in full. */
export const maxCauses = 10;

/** Finds the manifest line that an address, or one of its attributes, comes from. */
export type LocationFinder = (address: string, attribute?: string) => SourceLocation | undefined;

/** How failures are shown. */
export interface FailureOptions {
  readonly paint: Palette;
  readonly nameOf: (address: string) => ResourceName;
  readonly locationOf: LocationFinder;
}

/** Calls end in any order; people look for an address. */
const { compare } = new Intl.Collator("en", { numeric: true });

/** Failures by cause, those of a cause by address: the same for runs that failed alike. */
export function sortFailures(items: readonly FailedItem[]): readonly FailureGroup[] {
  return groupFailures([...items].sort((a, b) => compare(a.address, b.address)));
}

/** What is worth saying of failures that are said already: it is the same for two runs that failed alike. */
export function substanceOfFailures(groups: readonly FailureGroup[]): string {
  if (groups.length === 0) return "";
  return JSON.stringify(
    groups.map(({ isDoubt, failure, addresses }) => {
      // The calls that were in flight met it first.
      const about = failure.stops === "run" && !isDoubt ? [] : addresses;
      return [isDoubt, failure.code, causeOf(failure), about];
    }),
  );
}

/**
 * Log entries for the failures of a run: one a cause, and one for all causes beyond the first ten. What is in doubt comes after
 * them, and what a person has to settle comes last, each with ten causes of its own: nothing pushes it out of sight.
 */
export function describeFailures(
  groups: readonly FailureGroup[],
  options: FailureOptions,
): readonly LogEntry[] {
  const doubts = groups.filter(({ isDoubt }) => isDoubt);
  return [
    groups.filter(({ isDoubt }) => !isDoubt),
    doubts.filter((group) => !isForPerson(group)),
    doubts.filter(isForPerson),
  ].flatMap((alike) => {
    const others = alike.slice(maxCauses);
    return [
      ...alike.slice(0, maxCauses).map((group) => describeGroup(group, options)),
      ...(others.length === 0 ? [] : [describeOthers(others, options.paint)]),
    ];
  });
}

/** Only a file in doubt is settled by the next run. */
function isForPerson({ addresses }: FailureGroup): boolean {
  return addresses.some((address) => parseAddress(address)?.type !== "attachment");
}

function describeGroup(group: FailureGroup, options: FailureOptions): LogEntry {
  const { isDoubt, addresses, failure } = group;
  const { code, errors = [] } = failure;
  return {
    level: "error",
    text: `${formatGroup(group, options)}\n`,
    message: causeOf(failure),
    code,
    facts: {
      outcome: isDoubt ? "in_doubt" : "failed",
      changes: addresses.length,
      addresses: addresses.slice(0, maxNamedAddresses),
      hint: hintOf(group),
      errors,
    },
  };
}

/** The hint, with a command to copy if it can be about one address only. */
function hintOf({ addresses, settledBy, failure: { hint } }: FailureGroup): string | undefined {
  const [only = "ADDRESS"] = addresses.length === 1 ? settledBy : [];
  return hint?.replace("ADDRESS", () => quoteArgument(only));
}

function describeOthers(groups: readonly FailureGroup[], paint: Palette): LogEntry {
  const isDoubt = groups.some((group) => group.isDoubt);
  const changes = groups.reduce((sum, { addresses }) => sum + addresses.length, 0);
  const what = isDoubt ? "may or may not have succeeded" : "did not succeed";
  const message = `${plural(changes, "change")} ${what} for ${plural(groups.length, "other cause")}`;
  const hint = isDoubt
    ? "`draftsync plan` lists all that is in doubt, and how that ends."
    : "`draftsync history` lists every call with its cause.";
  return {
    level: "error",
    text: `${labelOf(isDoubt, paint)} ${message}\n  ${paint("info", "hint:")} ${hint}\n`,
    message,
    code: "more-failures",
    facts: { changes, hint },
  };
}

function labelOf(isDoubt: boolean, paint: Palette): string {
  return isDoubt ? paint("warning", "in doubt:") : paint("error", "error:");
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
function formatGroup(group: FailureGroup, options: FailureOptions): string {
  const { isDoubt, failure, addresses, settledBy } = group;
  const { paint } = options;
  const { code, errors = [], stops } = failure;
  const lines = [
    `${labelOf(isDoubt, paint)} ${sanitizeLine(withoutDetail(failure))}  ${paint("muted", `[${code}]`)}`,
  ];
  const reasons = errors.map(formatApiError).filter((reason) => reason !== "");
  for (const reason of reasons) lines.push(`  ${paint("muted", "service:")} ${reason}`);
  const what = `  ${plural(addresses.length, "change")}${isDoubt ? "" : " failed"}${stops === "run" ? ", and the run stopped" : ""}`;
  // A failure that stops the run is not about the changes that met it first; a doubt is.
  if (stops === "run" && !isDoubt) lines.push(`${what}.`);
  else {
    const named = addresses.slice(0, maxNamedAddresses);
    const more = addresses.length - named.length;
    const path = (at: number) =>
      isDoubt && named.length > 1 && settledBy[at] !== named[at] ? `; its path: ${settledBy[at]}` : "";
    const where = named.map((address, at) => `    ${formatWhere(address, errors, options)}${path(at)}`);
    lines.push(`${what}:`, ...where);
    const lister = isDoubt ? "`draftsync plan`" : "--verbose";
    if (more > 0) lines.push(`    and ${formatCount(more)} more; ${lister} lists them`);
  }
  const hint = hintOf(group);
  if (hint !== undefined) lines.push(`  ${paint("info", "hint:")} ${sanitizeLine(hint)}`);
  return lines.join("\n");
}

/** The cause without the text of the service's errors, which have lines of their own. */
function withoutDetail(failure: Failure): string {
  const cause = causeOf(failure);
  const details = (failure.errors ?? []).map(({ detail, title }) => detail ?? title ?? "");
  const detail = details.filter((text) => text !== "").join("; ");
  return detail !== "" && cause.endsWith(`: ${detail}`) ? cause.slice(0, -detail.length - 2) : cause;
}

/** An address and the line of the manifest that holds it, or the value that the service's pointer names. */
function formatWhere(
  address: string,
  errors: readonly ApiError[],
  { nameOf, locationOf }: FailureOptions,
): string {
  const pointers = errors.map(({ source }) => /^\/data\/attributes\/([^/]+)$/.exec(source?.pointer ?? ""));
  const attribute = pointers.find((match) => match !== null)?.[1];
  const { title, declared_at } = nameOf(address);
  const location = locationOf(address, attribute);
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
