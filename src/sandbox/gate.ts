import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { type ApiError, apiError } from "./api-error.ts";
import type { Env } from "./env.ts";
import { JSON_API, parseAccept, VERSION, VERSION_PARAMETER } from "./media-types.ts";
import type { Settings } from "./options.ts";

/**
 * The first check of every request to the service: the rate bound (429).
 *
 * The headers are those of draft-ietf-httpapi-ratelimit-headers-10: `RateLimit-Policy: "arrivals";q=10;w=1` and
 * `RateLimit: "arrivals";r=4;t=1`. The window `w` is whole seconds there, so another window goes unnamed.
 */
export function makeRateGate(bound: { limit: number; windowMs: number }): MiddlewareHandler<Env> {
  const window = makeRateWindow(bound);
  return async (c, next) => {
    if (c.get("entry").side === "storage") return next();
    const verdict = window.arrive(c.get("entry").monotonic);
    const headers = rateHeaders(bound, verdict);
    if (!verdict.admitted) throw tooManyRequests(bound, verdict, headers);
    await next();
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
  };
}

/** The next checks of every request to the service: the key (401), then the version (406). */
export function makeGate(settings: Settings): MiddlewareHandler<Env> {
  return async (c, next) => {
    checkKey(c.env.incoming.headers.authorization, settings.key);
    checkVersion(c.env.incoming.headers.accept, settings);
    await next();
  };
}

function rateHeaders(
  bound: { limit: number; windowMs: number },
  verdict: RateVerdict,
): Record<string, string> {
  const seconds = bound.windowMs / 1000;
  const window = Number.isInteger(seconds) ? `;w=${seconds}` : "";
  const reset = verdict.retryAfterMs > 0 ? `;t=${Math.ceil(verdict.retryAfterMs / 1000)}` : "";
  return {
    "ratelimit-policy": `"arrivals";q=${bound.limit}${window}`,
    ratelimit: `"arrivals";r=${verdict.remaining}${reset}`,
  };
}

function tooManyRequests(
  bound: { limit: number; windowMs: number },
  verdict: RateVerdict,
  headers: Record<string, string>,
): ApiError {
  return apiError(
    {
      status: 429,
      code: "too-many-requests",
      detail: `At most ${bound.limit} requests may arrive in ${bound.windowMs} ms; this one was not processed.`,
    },
    { ...headers, "retry-after": String(Math.max(1, Math.ceil(verdict.retryAfterMs / 1000))) },
  );
}

/** Whether a request has the key. The scheme is matched without regard to case (RFC 9110 §11.1), the key byte by byte. */
export function hasKey(header: string | undefined, key: string): boolean {
  const given = /^token +(\S+)$/i.exec(header ?? "")?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(key));
}

function checkKey(header: string | undefined, key: string): void {
  if (hasKey(header, key)) return;
  throw apiError(
    {
      status: 401,
      code: "unauthorized",
      detail:
        header === undefined
          ? "The header Authorization is missing; it must be: Token <API_KEY>."
          : "The header Authorization names no valid key; it must be: Token <API_KEY>.",
      source: { header: "Authorization" },
    },
    { "www-authenticate": 'Token realm="draftsync sandbox"' },
  );
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function checkVersion(header: string | undefined, settings: Settings): void {
  const ranges = parseAccept(header ?? "").filter((range) => range.name === JSON_API);
  const versions = ranges.filter(
    ({ parameters }) =>
      parameters.get(VERSION_PARAMETER) === VERSION && !/^0(\.0*)?$/.test(parameters.get("q") ?? ""),
  );
  const known = new Set([VERSION_PARAMETER, "q"]);
  const exact = versions.filter(({ parameters }) => [...parameters.keys()].every((name) => known.has(name)));
  const accepted = settings.behavior.mediaTypes === "strict" ? exact : versions;
  if (accepted.length > 0) return;
  throw apiError({
    status: 406,
    code: ranges.length > 0 ? "unknown-version" : "not-acceptable",
    detail: `The header Accept must be: ${JSON_API}; ${VERSION_PARAMETER}=${VERSION}.`,
    source: { header: "Accept" },
  });
}

/** What the window says about one request. */
interface RateVerdict {
  readonly admitted: boolean;
  /** How many more arrivals would be admitted right now. */
  readonly remaining: number;
  /** Milliseconds after which a request is admitted, if none comes before. 0 while `remaining` is positive. */
  readonly retryAfterMs: number;
}

/** A bound on arrivals over a true sliding window. */
interface RateWindow {
  /** Counts a request at a monotonic time in milliseconds. Times never go back. */
  arrive(at: number): RateVerdict;
}

/**
 * Bounds arrivals to `limit` in any half-open window of `windowMs`. Refused arrivals count as well, so a client
 * that keeps knocking stays out. The verdict depends on the request `limit` places back and on nothing else:
 *
 *     limit 3    a . b c . . . d        d is admitted when d - a >= windowMs
 */
export function makeRateWindow(bound: { limit: number; windowMs: number }): RateWindow {
  const latest: number[] = [];
  return {
    arrive(at) {
      const before = latest.length < bound.limit ? undefined : latest.shift();
      latest.push(at);
      const inWindow = latest.filter((time) => at - time < bound.windowMs).length;
      const remaining = bound.limit - inWindow;
      const oldest = latest[0] ?? at;
      return {
        admitted: before === undefined || at - before >= bound.windowMs,
        remaining,
        retryAfterMs: remaining > 0 ? 0 : oldest + bound.windowMs - at,
      };
    },
  };
}
