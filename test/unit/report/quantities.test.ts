import { describe, expect, test } from "vitest";
import {
  formatBytes,
  formatCount,
  formatMilliseconds,
  formatRate,
  formatSeconds,
  plural,
} from "../../../src/report/quantities.ts";

describe("quantities", () => {
  test.each([
    [plural(1, "call"), "1 call"],
    [plural(0, "call"), "0 calls"],
    [plural(9500, "call"), "9,500 calls"],
    [formatCount(1234567), "1,234,567"],
    [formatCount(999), "999"],
    [formatSeconds(4), "4 s"],
    [formatSeconds(125), "2 min 5 s"],
    [formatSeconds(3600), "1 h"],
    [formatSeconds(6000), "1 h 40 min"],
    [formatMilliseconds(180), "180 ms"],
    [formatMilliseconds(1400), "1.4 s"],
    [formatMilliseconds(65_000), "1 min 5 s"],
    [formatBytes(0), "0 B"],
    [formatBytes(999), "999 B"],
    [formatBytes(999_960), "1.0 MB"],
    [formatBytes(14_200), "14.2 kB"],
    [formatBytes(3_000_000_000), "3.0 GB"],
    [formatRate(10, 1000), "10/s"],
    [formatRate(600, 60_000), "600/min"],
    [formatRate(5, 2500), "5 per 2.5 s"],
  ])("are formatted as %s", (shown, expected) => expect(shown).toBe(expected));
});
