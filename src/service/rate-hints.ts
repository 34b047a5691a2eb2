import type { RateBound } from "../model/rate.ts";

/** Gives a response header by its lower-case name; several lines of one name joined by `, `. */
export type HeaderLookup = (name: string) => string | undefined;

/** What the headers of an answer say about pace. Milliseconds from the moment the answer came. */
export interface RateHints {
  /** `Retry-After`; 0 for a date that has passed. */
  readonly retryAfterMs?: number;
  /** Nothing is left of a quota until then. */
  readonly exhaustedMs?: number;
  /** Quotas the service has announced. */
  readonly policies: readonly RateBound[];
}

/** A wait that is longer says no more than this one: a year. */
const maxMs = 365 * 86_400_000;

/** More policies than this are no policies of a service that means well. */
const maxPolicies = 4;

/** Seconds above this are a point in time (epoch seconds), not a span. */
const firstEpochSecond = 1_000_000_000;

/** Values above this are epoch milliseconds. */
const firstEpochMs = 1_000_000_000_000;

/**
 * Reads `Retry-After` (RFC 9110 §10.2.3, seconds or a date), `RateLimit` and `RateLimit-Policy` (the structured fields
 * of draft-ietf-httpapi-ratelimit-headers-10, the triple of draft-07 and the single headers of the drafts before),
 * and `X-RateLimit-Remaining` with `X-RateLimit-Reset` (seconds or epoch). What cannot be read is left out.
 *
 * Dates are compared with the answer's own `Date` when it has one, so that a wrong clock here does no harm.
 * `now` is the wall clock, epoch milliseconds.
 */
export function readRateHints(header: HeaderLookup, now: number): RateHints {
  const date = Date.parse(header("date") ?? "");
  const serverNow = Number.isNaN(date) ? now : date;
  const retryAfterMs = readRetryAfter(header("retry-after"), serverNow);
  const exhaustedMs = readExhausted(header, serverNow);
  return {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(exhaustedMs === undefined ? {} : { exhaustedMs }),
    policies: readPolicies(header("ratelimit-policy")),
  };
}

/** The longest wait of a list or a repeated header; an element that is neither seconds nor a date is left out. */
function readRetryAfter(text: string | undefined, serverNow: number): number | undefined {
  const waits = (text?.match(retryAfterElement) ?? []).flatMap((element) => {
    const seconds = readNumber(element);
    if (seconds !== undefined) return [Math.min(seconds * 1000, maxMs)];
    // The oldest form names no zone; all of them are in GMT.
    const date = httpDate.test(element.trim())
      ? Date.parse(element.replace(/(GMT)?\s*$/, " GMT"))
      : Number.NaN;
    return Number.isNaN(date) ? [] : [clamp(date - serverNow)];
  });
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** Up to the next comma, except for the one after the day of a date. */
const retryAfterElement = /(?:\s*[A-Z][a-z]+,)?[^,]+/g;

/** The three forms of RFC 9110 §5.6.7; `Date.parse` alone takes `-5` for a date. */
const httpDate =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

function readExhausted(header: HeaderLookup, serverNow: number): number | undefined {
  const waits = [
    ...readRateLimitField(header("ratelimit")),
    { remaining: readNumber(header("ratelimit-remaining")), reset: readNumber(header("ratelimit-reset")) },
    {
      remaining: readNumber(header("x-ratelimit-remaining")),
      reset: readNumber(header("x-ratelimit-reset")),
    },
  ]
    .filter(({ remaining, reset }) => remaining === 0 && reset !== undefined)
    .map(({ reset = 0 }) => waitFor(reset, serverNow))
    .filter((ms) => ms > 0);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

interface Quota {
  readonly remaining: number | undefined;
  readonly reset: number | undefined;
}

function readRateLimitField(text: string | undefined): Quota[] {
  if (text === undefined) return [];
  const items = splitOutsideQuotes(text, ",").map((item) => parameters(item));
  const triple = new Map(items.flatMap((item) => [...item.parameters, ...item.bare]));
  return [
    { remaining: readNumber(triple.get("remaining")), reset: readNumber(triple.get("reset")) },
    ...items.map((item) => ({
      remaining: readNumber(item.parameters.get("r")),
      reset: readNumber(item.parameters.get("t")),
    })),
  ];
}

function readPolicies(text: string | undefined): RateBound[] {
  if (text === undefined) return [];
  return splitOutsideQuotes(text, ",")
    .map((item) => parameters(item))
    .filter((item) => (item.parameters.get("qu") ?? "requests") === "requests")
    .map((item) => ({
      limit: readNumber(item.parameters.get("q") ?? item.name) ?? 0,
      windowMs: (readNumber(item.parameters.get("w")) ?? 0) * 1000,
    }))
    .filter(({ limit, windowMs }) => limit >= 1 && windowMs > 0 && windowMs <= maxMs)
    .slice(0, maxPolicies);
}

/** `name;key=value;key="value"`, or `key=value` alone: that one is in `bare`. */
function parameters(item: string) {
  const [name = "", ...rest] = splitOutsideQuotes(item, ";");
  const pair = (text: string): [string, string] => {
    const equals = text.indexOf("=");
    const value = text.slice(equals + 1).trim();
    return [text.slice(0, Math.max(0, equals)).trim().toLowerCase(), value.replace(/^"(.*)"$/, "$1")];
  };
  return {
    name: name.trim(),
    parameters: new Map(rest.map(pair)),
    bare: new Map(name.includes("=") ? [pair(name)] : []),
  };
}

function splitOutsideQuotes(text: string, separator: "," | ";"): string[] {
  return text.match(separator === "," ? /(?:"[^"]*"|[^,"])+/g : /(?:"[^"]*"|[^;"])+/g) ?? [];
}

function waitFor(reset: number, serverNow: number): number {
  if (reset >= firstEpochMs) return clamp(reset - serverNow);
  if (reset >= firstEpochSecond) return clamp(reset * 1000 - serverNow);
  return clamp(reset * 1000);
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

function clamp(ms: number): number {
  return Math.min(maxMs, Math.max(0, ms));
}
