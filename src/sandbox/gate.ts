import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { Env } from "./env.ts";
import { apiError } from "./errors.ts";
import { JSON_API, parseAccept } from "./media-types.ts";
import type { Settings } from "./options.ts";

/** The parameter of `Accept` that selects the version, and the only version. */
const VERSION_PARAMETER = "com.service.api.version";
const VERSION = "1";

interface RateLimit {
  readonly limit: number;
  readonly windowMs: number;
}

/**
 * The first check of every request to the service: the rate limit (429).
 *
 * The headers are those of draft-ietf-httpapi-ratelimit-headers-10: `RateLimit-Policy: "arrivals";q=10;w=1` and
 * `RateLimit: "arrivals";r=4;t=1`. The window `w` is in whole seconds; another window is omitted.
 */
export function makeRateGate({ limit, windowMs }: RateLimit): MiddlewareHandler<Env> {
  const window = makeRateWindow({ limit, windowMs });
  return async (c, next) => {
    if (c.get("entry").side === "storage") return next();
    const { admitted, remaining, retryAfterMs } = window.arrive(c.get("entry").monotonic);
    const seconds = Math.ceil(retryAfterMs / 1000);
    const headers = {
      "ratelimit-policy": `"arrivals";q=${limit}${windowMs % 1000 === 0 ? `;w=${windowMs / 1000}` : ""}`,
      ratelimit: `"arrivals";r=${remaining}${seconds > 0 ? `;t=${seconds}` : ""}`,
    };
    if (!admitted) {
      const detail = `At most ${limit} requests may arrive in ${windowMs} ms; this one was not processed.`;
      throw apiError(
        { status: 429, code: "too-many-requests", detail },
        { ...headers, "retry-after": String(Math.max(1, seconds)) },
      );
    }
    await next();
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
  };
}

/** The next checks of every request to the service: the key (401), then the version (406). */
export function makeGate(settings: Settings): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { authorization, accept } = c.env.incoming.headers;
    checkKey(authorization, settings.key);
    checkVersion(accept, settings);
    await next();
  };
}

/** Whether a request has the key. The scheme is case-insensitive (RFC 9110 §11.1). */
export function hasKey(header: string | undefined, key: string): boolean {
  const given = /^token +(\S+)$/i.exec(header ?? "")?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(key));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function checkKey(header: string | undefined, key: string): void {
  if (hasKey(header, key)) return;
  const mistake = header === undefined ? "is missing" : "names no valid key";
  throw apiError(
    {
      status: 401,
      code: "unauthorized",
      detail: `The header Authorization ${mistake}; it must be: Token <API_KEY>.`,
      source: { header: "Authorization" },
    },
    { "www-authenticate": 'Token realm="draftsync sandbox"' },
  );
}

function checkVersion(header: string | undefined, { behavior }: Settings): void {
  const ranges = parseAccept(header ?? "").filter((range) => range.name === JSON_API);
  const isAccepted = ranges.some(({ parameters }) => {
    const { [VERSION_PARAMETER]: version, q = "1", ...others } = Object.fromEntries(parameters);
    if (behavior.mediaTypes === "strict" && Object.keys(others).length > 0) return false;
    return version === VERSION && !/^0(\.0*)?$/.test(q);
  });
  if (isAccepted) return;
  throw apiError({
    status: 406,
    code: ranges.length > 0 ? "unknown-version" : "not-acceptable",
    detail: `The header Accept must be: ${JSON_API}; ${VERSION_PARAMETER}=${VERSION}.`,
    source: { header: "Accept" },
  });
}

/**
 * Limits arrivals to `limit` in any half-open window of `windowMs`. Refused arrivals count as well, so a client that does not
 * wait stays out. The decision depends only on the request `limit` places back:
 *
 *     limit 3    a . b c . . . d        d is admitted when d - a >= windowMs
 */
export function makeRateWindow({ limit, windowMs }: RateLimit) {
  const latest: number[] = [];
  return {
    /** Counts a request at a monotonic time in milliseconds. */
    arrive(at: number) {
      const before = latest.length < limit ? undefined : latest.shift();
      latest.push(at);
      const remaining = limit - latest.filter((time) => at - time < windowMs).length;
      const [oldest = at] = latest;
      return {
        admitted: before === undefined || at - before >= windowMs,
        /** How many more arrivals would be admitted now. */
        remaining,
        /** Milliseconds until a request is admitted, if none arrives before. 0 while `remaining` is positive. */
        retryAfterMs: remaining > 0 ? 0 : oldest + windowMs - at,
      };
    },
  };
}
