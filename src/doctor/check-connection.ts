import { isoTime } from "../model/time.ts";
import { formatMilliseconds, formatRate, plural } from "../report/quantities.ts";
import { isLoopback } from "../service/connections.ts";
import { readRateHints } from "../service/rate-hints.ts";
import type { CheckResult, RateLimit } from "./check.ts";
import { fromProblem } from "./check.ts";
import type { ServiceInput } from "./check-service.ts";
import type { FailedSample, ResponseSample, TlsSample } from "./samples.ts";

const dayMs = 86_400_000;

/** Automatic renewal happens a month before; a certificate this close to its end was forgotten. */
const minCertificateDays = 14;

/** Checks TLS and the certificate; `undefined` if no connection got that far. */
export function checkTls({ samples, baseUrl, now }: ServiceInput): CheckResult | undefined {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol === "http:") {
    return isLoopback(hostname)
      ? { status: "ok", code: "tls-local", message: "none: the service runs on this machine" }
      : {
          status: "warning",
          code: "tls-plain",
          message: "none, although the service runs on another machine",
        };
  }
  if (samples.tls !== undefined) return checkCertificate(samples.tls, now);
  if (samples.product.type === "failed") return checkTlsFailure(samples.product);
  return { status: "unknown", code: "tls-unknown", message: "the connection could not be inspected" };
}

function checkCertificate({ protocol, subject, issuer, expiresAt }: TlsSample, now: number): CheckResult {
  const days = Math.floor((expiresAt - now) / dayMs);
  const expires_at = isoTime(expiresAt);
  const details = { protocol, subject, issuer, expires_at, days };
  const date = expires_at.slice(0, 10);
  const message = `${protocol}; certificate of ${subject} by ${issuer}, expires ${date} (in ${plural(days, "day")})`;
  return days < minCertificateDays
    ? { status: "warning", code: "tls-expires-soon", message, details }
    : { status: "ok", code: "tls-valid", message, details };
}

function checkTlsFailure({ problem, systemCode }: FailedSample): CheckResult | undefined {
  if (problem.code !== "certificate-invalid" && problem.code !== "tls-failed") return undefined;
  const failed = { status: "failed", message: problem.message, details: { problem } } as const;
  // OpenSSL's reasons, as Node names them.
  switch (systemCode) {
    case "CERT_HAS_EXPIRED":
      return { ...failed, code: "tls-expired" };
    case "CERT_NOT_YET_VALID":
      return { ...failed, code: "tls-not-yet-valid" };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
    case "HOSTNAME_MISMATCH":
      return { ...failed, code: "tls-wrong-host" };
    default:
      return { status: "failed", code: "tls-untrusted", ...fromProblem(problem) };
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
  const configured = formatLimit(rate);
  const details = { configured: toJson(rate), headers };
  const announced = strictest(responses.flatMap(({ header, at }) => readRateHints(header, at).policies));
  if (announced !== undefined && maxCalls(rate, announced.windowMs) > announced.limit) {
    const { limit, windowMs } = announced;
    const window = windowMs % 60_000 === 0 ? `${windowMs / 60_000}m` : `${windowMs / 1000}s`;
    return {
      status: "warning",
      code: "rate-too-high",
      message: `${headers.join("; ")}: the service allows ${formatLimit(announced)}, but service.rate is ${configured}`,
      details: { ...details, announced: toJson(announced) },
      setting: { path: ["rate"], value: { limit, window } },
    };
  }
  const refused = responses.find(({ status }) => status === 429 || status === 425);
  if (refused !== undefined) {
    const message = [`a call was refused (${refused.status})`, ...headers].join("; ");
    return {
      status: "warning",
      code: "rate-refused",
      message,
      details: { ...details, status: refused.status },
    };
  }
  if (announced !== undefined) {
    const message = `${headers.join("; ")}: service.rate, ${configured}, is within the limit`;
    return { status: "ok", code: "rate-fits", message, details };
  }
  return headers.length > 0
    ? {
        status: "unknown",
        code: "rate-without-window",
        message: `${headers.join("; ")}, without a window; service.rate is ${configured}`,
        details,
      }
    : {
        status: "unknown",
        code: "rate-not-announced",
        message: `the service announces no limit; service.rate is ${configured}`,
        details,
      };
}

function strictest(limits: readonly RateLimit[]): RateLimit | undefined {
  return limits.toSorted((a, b) => a.limit / a.windowMs - b.limit / b.windowMs)[0];
}

/** The most calls that a limit allows in a window of another length. */
function maxCalls({ limit, windowMs }: RateLimit, otherMs: number): number {
  return Math.ceil(otherMs / windowMs) * limit;
}

function formatLimit({ limit, windowMs }: RateLimit): string {
  return formatRate(limit, windowMs);
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
  if (ahead.length === 0) {
    return { status: "unknown", code: "clock-unknown", message: "the responses contain no Date header" };
  }
  const aheadMs = ahead.reduce((least, each) => (Math.abs(each) < Math.abs(least) ? each : least));
  const distance = Math.abs(aheadMs);
  const details = { ahead_ms: aheadMs };
  const message =
    distance < 2000
      ? "within two seconds of the service's clock"
      : `${formatMilliseconds(distance)} ${aheadMs > 0 ? "ahead of" : "behind"} the service's clock`;
  return distance <= clockToleranceMs
    ? { status: "ok", code: "clock-right", message, details }
    : { status: "warning", code: "clock-off", message, details };
}

/** Measures the latency, and the call rate that it allows under the rate limit and the concurrency. */
export function checkLatency({ responses, rate, concurrency }: ServiceInput): CheckResult {
  const times = responses.map(({ ms }: ResponseSample) => ms).toSorted((a, b) => a - b);
  const [fastestMs] = times;
  const medianMs = times[Math.floor(times.length / 2)];
  if (fastestMs === undefined || medianMs === undefined) {
    return { status: "unknown", code: "latency-unknown", message: "no call completed" };
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
  const message = `${latency}: up to ${perSecond.toFixed(1)} calls a second with ${formatLimit(rate)}`;
  // The median of one or two calls includes the time to connect.
  if (byConcurrency >= byRate || times.length < 3) {
    return { status: "ok", code: "latency-measured", message, details };
  }
  const needed = Math.min(256, Math.ceil((byRate * medianMs) / 1000));
  return {
    status: "warning",
    code: "concurrency-too-low",
    message: `${message}; service.concurrency ${concurrency} is too low`,
    details: { ...details, concurrency, needed },
    setting: { path: ["concurrency"], value: needed },
  };
}
