import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  durationSchema,
  formatDuration,
  parseDuration,
  positiveDurationSchema,
} from "../../../src/model/time.ts";

describe("parseDuration", () => {
  it.each([
    ["500ms", 500],
    ["30s", 30_000],
    ["1.5s", 1500],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["0s", 0],
    ["3650d", 315_360_000_000],
  ])("parses %s", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    "",
    "30",
    "s",
    "-1s",
    "1 s",
    "1S",
    "1m30s",
    "1e3s",
    ".5s",
    "5.s",
    "3651d",
    "9".repeat(400).concat("s"),
    "1s\n",
  ])("rejects %j", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it("parses the output of formatDuration", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 11 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});

describe("durationSchema", () => {
  it("converts text to milliseconds, and back", () => {
    expect(durationSchema.parse("30s")).toBe(30_000);
    expect(durationSchema.encode(90_000)).toBe("90s");
  });

  it.each([
    ["soon", "not a duration: write a number and a unit, such as 500ms, 30s, 5m, 2h or 1d"],
    ["4000d", "longer than 3650d"],
  ])("explains the error in %j", (text, message) => {
    expect(durationSchema.safeParse(text).error?.issues.map((issue) => issue.message)).toEqual([message]);
  });

  it("rejects a number", () => {
    expect(durationSchema.safeParse(30).success).toBe(false);
  });

  it("rejects zero for positive durations", () => {
    expect(positiveDurationSchema.safeParse("0s").error?.issues[0]?.message).toBe("must be longer than zero");
  });
});
