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
      "a date relative to the server's clock",
      { "retry-after": "Sun, 01 Mar 2026 15:00:30 GMT", date: "Sun, 01 Mar 2026 15:00:00 GMT" },
      30_000,
    ],
    ["more than a year as a year", { "retry-after": "99999999999999" }, 365 * 86_400_000],
    ["a word as nothing", { "retry-after": "soon" }, undefined],
    ["a negative number as nothing", { "retry-after": "-5" }, undefined],
    ["an empty value as nothing", { "retry-after": "" }, undefined],
    ["a number with a unit as nothing", { "retry-after": "10 seconds" }, undefined],
    ["a list as its longest", { "retry-after": "5, 10" }, 10_000],
    ["a list as its longest, in any order", { "retry-after": "10,5 , 7" }, 10_000],
    ["the readable parts of a list", { "retry-after": "soon, 5, -20" }, 5000],
    [
      "a list of a date and seconds",
      { "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT, 5, Sun, 01 Mar 2026 12:00:20 GMT" },
      30_000,
    ],
    ["an RFC 850 date", { "retry-after": "7, Sunday, 01-Mar-26 12:00:30 GMT" }, 30_000],
    ["an asctime date", { "retry-after": "Sun Mar  1 12:00:30 2026" }, 30_000],
  ])("reads %s", (_name, headers, ms) => {
    expect(read(headers).retryAfterMs).toBe(ms);
  });
});

describe("exhausted quota", () => {
  it.each([
    ["the structured field", { ratelimit: '"default";r=0;t=5' }, 5000],
    ["a structured field with remaining calls as nothing", { ratelimit: '"default";r=1;t=5' }, undefined],
    [
      "the longest wait of several exhausted quotas",
      { ratelimit: '"a,b";r=0;t=5, "day";r=0;t=60, "x";r=3;t=900' },
      60_000,
    ],
    ["the field of the older draft", { ratelimit: "limit=10, remaining=0, reset=5" }, 5000],
    [
      "the field of the older draft with remaining calls as nothing",
      { ratelimit: "limit=10, remaining=3, reset=5" },
      undefined,
    ],
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
      "a past reset as nothing",
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now / 1000 - 5) },
      undefined,
    ],
    ["remaining calls without a reset as nothing", { "x-ratelimit-remaining": "0" }, undefined],
    ["remaining calls as nothing", { "x-ratelimit-remaining": "4", "x-ratelimit-reset": "9" }, undefined],
    ["no headers as nothing", {}, undefined],
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
    ["a quota of other units as nothing", '"bytes";q=10;w=1;qu="content-bytes"', []],
    ["a quota without a window as nothing", '"arrivals";q=10', []],
    ["a quota of zero calls as nothing", '"arrivals";q=0;w=1', []],
  ])("reads %s", (_name, text, policies) => {
    expect(read({ "ratelimit-policy": text }).policies).toEqual(policies);
  });
});

it("reads any headers without an error, as finite waits of at least zero", () => {
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
