import { expect, test } from "vitest";
import { isoTime } from "../../../../src/model/time.ts";
import { findPeaks, quantile } from "../../../../src/report/html/history-plots.ts";

const callAt = (at: number) => ({
  operation_id: String(at),
  address: "drafts/1",
  kind: "attach",
  method: "POST",
  path: "/",
  started_at: isoTime(at),
  outcome: "done",
});

test.each([
  { name: "a burst within one stretch", begins: [50, 51, 52], windowMs: 10, peaks: [3] },
  { name: "calls a window apart", begins: [10, 20, 30], windowMs: 10, peaks: [1] },
  { name: "what was begun shortly before a stretch", begins: [95, 99], windowMs: 50, peaks: [2, 2] },
])("the peak counts $name", ({ begins, windowMs, peaks }) => {
  const found = findPeaks({ operations: begins.map(callAt), start: 0, end: 200 }, windowMs, 2);
  expect(found.map(({ calls }) => calls)).toEqual(peaks);
});

test.each([
  { of: [], part: 0.5, is: 0 },
  { of: [7], part: 0.25, is: 7 },
  { of: [15, 42], part: 0.5, is: 28.5 },
  { of: [1, 2, 3, 4, 5], part: 0.75, is: 4 },
])("the part $part of $of is at $is", ({ of, part, is }) => expect(quantile(of, part)).toBe(is));
