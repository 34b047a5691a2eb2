import { isoTime } from "../model/time.ts";
import { formatMilliseconds, formatRate, plural } from "../report/quantities.ts";
import { isLoopback } from "../service/connections.ts";
import { readRateHints } from "../service/rate-hints.ts";
import type { CheckResult, FailedSample, RateLimit, TlsSample } from "./check.ts";
import { failed, failedBy, ok, unknown, warning } from "./check.ts";
import type { ServiceInput } from "./check-service.ts";

const dayMs = 86_400_000;

/** Automatic renewal happens a month before; a certificate this close to its end was forgotten. */
const minCertificateDays = 14;

/** Checks TLS and the certificate; `undefined` if no connection got that far. */
export function checkTls({ samples, baseUrl, now }: ServiceInput): CheckResult | undefined {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol === "http:") {
    return isLoopback(hostname)
      ? ok("tls-local", "none: the service runs on this machine")
      : warning("tls-plain", "none, although the service runs on another machine");
  }
  if (samples.tls !== undefined) return checkCertificate(samples.tls, now);
  if (samples.product.type === "failed") return checkTlsFailure(samples.product);
  return unknown("tls-unknown", "the connection could not be inspected");
}

function checkCertificate({ protocol, subject, issuer, expiresAt }: TlsSample, now: number): CheckResult {
  const days = Math.floor((expiresAt - now) / dayMs);
  const expires_at = isoTime(expiresAt);
  const details = { protocol, subject, issuer, expires_at, days };
  const date = expires_at.slice(0, 10);
  const message = `${protocol}; certificate of ${subject} by ${issuer}, expires ${date} (in ${plural(days, "day")})`;
  return days < minCertificateDays
    ? warning("tls-expires-soon", message, { details })
    : ok("tls-valid", message, { details });
}

function checkTlsFailure({ problem, systemCode }: FailedSample): CheckResult | undefined {
  if (problem.code !== "certificate-invalid" && problem.code !== "tls-failed") return undefined;
  const { message } = problem;
  const details = { problem };
  // OpenSSL's reasons, as Node names them.
  switch (systemCode) {
    case "CERT_HAS_EXPIRED":
      return failed("tls-expired", message, { details });
    case "CERT_NOT_YET_VALID":
      return failed("tls-not-yet-valid", message, { details });
    case "ERR_TLS_CERT_ALTNAME_INVALID":
    case "HOSTNAME_MISMATCH":
      return failed("tls-wrong-host", message, { details });
    default:
      return failedBy("tls-untrusted", problem);
  }
}

/** The headers that announce rate limits. */
const rateHeaders = [
  "ratelimit",
  ...["ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
  ...["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
  ...["x-rate-limit-limit", "x-rate-limit-remaining", "x-rate-limit-reset"],
  "retry-after",
];

/** Compares the announced rate limit with the configured one. */
export function checkRate({ responses, rate }: ServiceInput): CheckResult {
  // `name: value` of each header, as last received.
  const headers = rateHeaders.flatMap((name) => {
    const value = responses.map(({ header }) => header(name)).findLast((each) => each !== undefined);
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  const shown = headers.join("; ");
  const configured = formatRate(rate.limit, rate.windowMs);
  const details = { configured: toJson(rate), headers };
  const announced = strictest(responses.flatMap(({ header, at }) => readRateHints(header, at).policies));
  if (announced !== undefined && maxCalls(rate, announced.windowMs) > announced.limit) {
    const { limit, windowMs } = announced;
    const window = windowMs % 60_000 === 0 ? `${windowMs / 60_000}m` : `${windowMs / 1000}s`;
    const message = `${shown}: the service allows ${formatRate(limit, windowMs)}, but service.rate is ${configured}`;
    return warning("rate-too-high", message, {
      details: { ...details, announced: toJson(announced) },
      setting: { path: ["rate"], value: { limit, window } },
    });
  }
  const refused = responses.find(({ status }) => status === 429 || status === 425)?.status;
  if (refused !== undefined) {
    const message = [`a call was refused (${refused})`, ...headers].join("; ");
    return warning("rate-refused", message, { details: { ...details, status: refused } });
  }
  if (announced !== undefined) {
    return ok("rate-fits", `${shown}: service.rate, ${configured}, is within the limit`, { details });
  }
  return headers.length > 0
    ? unknown("rate-without-window", `${shown}, without a window; service.rate is ${configured}`, { details })
    : unknown("rate-not-announced", `the service announces no limit; service.rate is ${configured}`, {
        details,
      });
}

function strictest(limits: readonly RateLimit[]): RateLimit | undefined {
  return limits.toSorted((a, b) => a.limit / a.windowMs - b.limit / b.windowMs)[0];
}

/** The most calls that a limit allows in a window of another length. */
function maxCalls({ limit, windowMs }: RateLimit, otherMs: number): number {
  return Math.ceil(otherMs / windowMs) * limit;
}

function toJson({ limit, windowMs }: RateLimit): object {
  return { limit, window_ms: windowMs };
}

/** `Date` has whole seconds, and is older by the time that the response took. */
const clockToleranceMs = 30_000;

/** Compares the clock of this machine with the clock of the service. */
export function checkClock({ responses }: ServiceInput): CheckResult {
  const ahead = responses.flatMap(({ header, at }) => {
    const date = Date.parse(header("date") ?? "");
    return Number.isNaN(date) ? [] : [at - date];
  });
  if (ahead.length === 0) return unknown("clock-unknown", "the responses contain no Date header");
  const aheadMs = ahead.reduce((least, each) => (Math.abs(each) < Math.abs(least) ? each : least));
  const distance = Math.abs(aheadMs);
  const details = { ahead_ms: aheadMs };
  const message =
    distance < 2000
      ? "within two seconds of the service's clock"
      : `${formatMilliseconds(distance)} ${aheadMs > 0 ? "ahead of" : "behind"} the service's clock`;
  return distance <= clockToleranceMs
    ? ok("clock-right", message, { details })
    : warning("clock-off", message, { details });
}

/** Measures the latency, and the call rate that it allows under the rate limit and the concurrency. */
export function checkLatency({ responses, rate, concurrency }: ServiceInput): CheckResult {
  const times = responses.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const [fastestMs] = times;
  const medianMs = times[Math.floor(times.length / 2)];
  if (fastestMs === undefined || medianMs === undefined) {
    return unknown("latency-unknown", "no call completed");
  }
  // A call counts against the limit for its own time plus the window, and against the concurrency for its own time.
  const byRate = (rate.limit * 1000) / (rate.windowMs + medianMs);
  const byConcurrency = (concurrency * 1000) / Math.max(medianMs, 0.1);
  const perSecond = Math.min(byRate, byConcurrency);
  const details = {
    calls: times.length,
    fastest_ms: fastestMs,
    median_ms: medianMs,
    calls_per_second: perSecond,
  };
  const latency = `fastest ${formatMilliseconds(fastestMs)}, median ${formatMilliseconds(medianMs)} of ${times.length}`;
  const message = `${latency}: up to ${perSecond.toFixed(1)} calls a second with ${formatRate(rate.limit, rate.windowMs)}`;
  // The median of one or two calls includes the time to connect.
  if (byConcurrency >= byRate || times.length < 3) return ok("latency-measured", message, { details });
  const needed = Math.min(256, Math.ceil((byRate * medianMs) / 1000));
  return warning("concurrency-too-low", `${message}; service.concurrency ${concurrency} is too low`, {
    details: { ...details, concurrency, needed },
    setting: { path: ["concurrency"], value: needed },
  });
}
