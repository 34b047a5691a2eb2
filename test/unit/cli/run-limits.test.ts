import { expect, test } from "vitest";
import { parseUntil } from "../../../src/cli/runtime/run-limits.ts";

const now = new Date(2026, 10, 21, 18, 30).getTime();
const minutes = 60_000;
/** Has run for an hour. */
const clock = { now: () => now, monotonic: () => 60 * minutes };

test.each([
  ["18:31", 1],
  ["18:30", 24 * 60],
  ["6:05", 11 * 60 + 35],
  [new Date(now + 5 * minutes).toISOString(), 5],
])("parses %s as a time in %i minutes", (text, inMinutes) => {
  expect(parseUntil(text, clock)).toEqual({ at: now + inMinutes * minutes, clock: "now" });
});

test.each([
  ["45m", 45],
  ["2h", 120],
])("parses %s as %i minutes of the clock that is never set", (text, inMinutes) => {
  expect(parseUntil(text, clock)).toEqual({ at: (60 + inMinutes) * minutes, clock: "monotonic" });
});

test("parses a time with an offset in its zone", () => {
  expect(parseUntil("2027-01-01T01:00+01:00", clock)).toEqual({ at: Date.UTC(2027, 0, 1), clock: "now" });
});

test.each([
  "",
  "24:00",
  "18:60",
  "tomorrow",
  "2026-11-21",
  "2027-01-01T00:00",
  "-5m",
  "0s",
  "2027-13-01T00:00Z",
])("rejects %j", (text) => {
  expect(() => parseUntil(text, clock)).toThrow(expect.objectContaining({ code: "invalid-flag" }));
});

test("rejects a time that has passed, with that reason", () => {
  expect(() => parseUntil("2020-01-01T00:00Z", clock)).toThrow(
    "the time of --until 2020-01-01T00:00Z has passed",
  );
});
