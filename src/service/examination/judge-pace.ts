import type { Bound, Check, PaceFacts } from "../../model/examination.ts";
import { makeCheck, withSetting } from "../../model/examination.ts";
import { readRateHints } from "../rate-hints.ts";
import type { AnswerLook } from "./look.ts";

/** The headers in which services speak of their bound. */
const rateHeaders = [
  "ratelimit",
  "ratelimit-policy",
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-rate-limit-limit",
  "x-rate-limit-remaining",
  "x-rate-limit-reset",
  "retry-after",
] as const;

/** Judges what the answers say of the service's bound, against the one that is set. Pure. */
export function judgeRate(answers: readonly AnswerLook[], bound: Bound): Check {
  const headers = seenHeaders(answers);
  const refused = answers.find(({ status }) => status === 429 || status === 425);
  const announced = strictest(answers.flatMap(({ header, at }) => readRateHints(header, at).policies));
  if (announced !== undefined && maxInWindow(bound, announced.windowMs) > announced.limit) {
    const facts = { bound, announced, headers };
    const { limit, windowMs } = announced;
    const setting = {
      limit,
      window: windowMs % 60_000 === 0 ? `${windowMs / 60_000}m` : `${windowMs / 1000}s`,
    };
    return withSetting(makeCheck("rate", "warning", { code: "rate-above", facts }), ["rate"], setting);
  }
  if (refused !== undefined) {
    const { status } = refused;
    return makeCheck("rate", "warning", { code: "rate-refused", facts: { status, headers } });
  }
  if (announced !== undefined)
    return makeCheck("rate", "ok", { code: "rate-fits", facts: { bound, headers } });
  return headers.length > 0
    ? makeCheck("rate", "not_known", { code: "rate-without-window", facts: { bound, headers } })
    : makeCheck("rate", "not_known", { code: "rate-not-announced", facts: { bound } });
}

/** `name: value` of each header that was seen, as it was seen last. */
function seenHeaders(answers: readonly AnswerLook[]): readonly string[] {
  return rateHeaders.flatMap((name) => {
    const value = answers.map(({ header }) => header(name)).findLast((each) => each !== undefined);
    return value === undefined ? [] : [`${name}: ${value}`];
  });
}

/** The slowest pace. */
function strictest(policies: readonly Bound[]): Bound | undefined {
  return policies.toSorted((a, b) => a.limit / a.windowMs - b.limit / b.windowMs)[0];
}

/** How many calls the bound lets into a window of another length. */
function maxInWindow({ limit, windowMs }: Bound, otherMs: number): number {
  return Math.ceil(otherMs / windowMs) * limit;
}

/** Judges the round trips, and what pace they allow under the bound and with so many connections. Pure. */
export function judgePace(
  answers: readonly AnswerLook[],
  { rate, concurrency }: { readonly rate: Bound; readonly concurrency: number },
): Check {
  const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const [fastestMs] = times;
  const medianMs = times[Math.floor(times.length / 2)];
  if (fastestMs === undefined || medianMs === undefined) {
    return makeCheck("pace", "not_known", { code: "pace-untold", facts: {} });
  }
  // A slot of the bound is taken for the window and the call's own time; a connection for the call's time.
  const byBound = (rate.limit * 1000) / (rate.windowMs + medianMs);
  const byConcurrency = (concurrency * 1000) / Math.max(medianMs, 0.1);
  const facts: PaceFacts = {
    calls: times.length,
    fastestMs,
    medianMs,
    perSecond: Math.min(byBound, byConcurrency),
    bound: rate,
  };
  // Of few calls, the first of which has made the connection, the middle says little.
  if (byConcurrency >= byBound || times.length < 3)
    return makeCheck("pace", "ok", { code: "pace-measured", facts });
  const wanted = Math.min(256, Math.ceil((byBound * medianMs) / 1000));
  const slow = { ...facts, concurrency, wanted };
  const check = makeCheck("pace", "warning", { code: "pace-held-by-concurrency", facts: slow });
  return withSetting(check, ["concurrency"], wanted);
}
