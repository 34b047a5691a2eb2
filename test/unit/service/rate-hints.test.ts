import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRateHints } from "../../../src/service/rate-hints.ts";

const now = Date.parse("Sun, 01 Mar 2026 12:00:00 GMT");
const read = (headers: Readonly<Record<string, string>>) => readRateHints((name) => headers[name], now);

describe("Retry-After", () => {
  it.each([
    ["seconds", { "retry-after": "7" }, 7000],
    ["zero", { "retry-after": "0" }, 0],
    ["a date", { "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT" }, 30_000],
    ["a past date", { "retry-after": "Sun, 01 Mar 2026 11:59:00 GMT" }, 0],
    [
      "a date against the clock of the server",
      { "retry-after": "Sun, 01 Mar 2026 15:00:30 GMT", date: "Sun, 01 Mar 2026 15:00:00 GMT" },
      30_000,
    ],
    ["more than anyone waits", { "retry-after": "99999999999999" }, 365 * 86_400_000],
    ["no number and no date", { "retry-after": "soon" }, undefined],
    ["a negative number", { "retry-after": "-5" }, undefined],
    ["nothing", { "retry-after": "" }, undefined],
    ["a number with a unit", { "retry-after": "10 seconds" }, undefined],
    ["a list as its longest", { "retry-after": "5, 10" }, 10_000],
    ["a list as its longest, in any order", { "retry-after": "10,5 , 7" }, 10_000],
    ["a list of which a part is unreadable", { "retry-after": "soon, 5, -20" }, 5000],
    [
      "a list of a date and seconds",
      { "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT, 5, Sun, 01 Mar 2026 12:00:20 GMT" },
      30_000,
    ],
    ["the date of RFC 850", { "retry-after": "7, Sunday, 01-Mar-26 12:00:30 GMT" }, 30_000],
    ["the date of asctime", { "retry-after": "Sun Mar  1 12:00:30 2026" }, 30_000],
  ])("reads %s", (_name, headers, ms) => {
    expect(read(headers).retryAfterMs).toBe(ms);
  });
});

describe("a quota that is used up", () => {
  it.each([
    ["the structured field", { ratelimit: '"default";r=0;t=5' }, 5000],
    ["the structured field with something left", { ratelimit: '"default";r=1;t=5' }, undefined],
    [
      "several quotas, the longest wait of those used up",
      { ratelimit: '"a,b";r=0;t=5, "day";r=0;t=60, "x";r=3;t=900' },
      60_000,
    ],
    ["the triple of the older draft", { ratelimit: "limit=10, remaining=0, reset=5" }, 5000],
    ["the triple with something left", { ratelimit: "limit=10, remaining=3, reset=5" }, undefined],
    ["single headers", { "ratelimit-limit": "10", "ratelimit-remaining": "0", "ratelimit-reset": "3" }, 3000],
    ["X- headers in seconds", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" }, 9000],
    [
      "X- headers in epoch seconds",
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now / 1000 + 12) },
      12_000,
    ],
    [
      "X- headers in epoch milliseconds",
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now + 1500) },
      1500,
    ],
    [
      "a reset that has passed",
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now / 1000 - 5) },
      undefined,
    ],
    ["remaining alone", { "x-ratelimit-remaining": "0" }, undefined],
    ["something left", { "x-ratelimit-remaining": "4", "x-ratelimit-reset": "9" }, undefined],
    ["nothing", {}, undefined],
  ])("reads %s", (_name, headers, ms) => {
    expect(read(headers).exhaustedMs).toBe(ms);
  });
});

describe("RateLimit-Policy", () => {
  it.each([
    ["the structured field", '"arrivals";q=10;w=1', [{ limit: 10, windowMs: 1000 }]],
    [
      "several",
      '"s";q=10;w=1, "m";q=100;w=60',
      [
        { limit: 10, windowMs: 1000 },
        { limit: 100, windowMs: 60_000 },
      ],
    ],
    ["the older draft", "10;w=1;comment=burst", [{ limit: 10, windowMs: 1000 }]],
    ["a quota of something else than requests", '"bytes";q=10;w=1;qu="content-bytes"', []],
    ["no window", '"arrivals";q=10', []],
    ["no calls at all", '"arrivals";q=0;w=1', []],
  ])("reads %s", (_name, text, policies) => {
    expect(read({ "ratelimit-policy": text }).policies).toEqual(policies);
  });
});

it("never fails, and never gives a wait that is negative, infinite or no number", () => {
  const header = fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-z=;,." -]{0,40}$/));
  fc.assert(
    fc.property(header, header, header, header, (one, two, three, four) => {
      const hints = read({
        "retry-after": one,
        ratelimit: two,
        "ratelimit-policy": three,
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": four,
      });
      for (const ms of [hints.retryAfterMs ?? 0, hints.exhaustedMs ?? 0]) {
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(365 * 86_400_000);
      }
      for (const { limit, windowMs } of hints.policies) {
        expect(limit).toBeGreaterThanOrEqual(1);
        expect(windowMs).toBeGreaterThan(0);
      }
    }),
  );
});
