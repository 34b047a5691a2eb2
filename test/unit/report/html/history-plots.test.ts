import { expect, test } from "vitest";
import { isoTime } from "../../../../src/model/time.ts";
import { findPeaks, quantile } from "../../../../src/report/html/history-plots.ts";
import { linearScale, logScale } from "../../../../src/report/html/plot.ts";

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
  { name: "calls that started before a stretch", begins: [95, 99], windowMs: 50, peaks: [2, 2] },
])("counts the peak of $name", ({ begins, windowMs, peaks }) => {
  const found = findPeaks({ operations: begins.map(callAt), start: 0, end: 200 }, windowMs, 2);
  expect(found.map(({ calls }) => calls)).toEqual(peaks);
});

test.each([
  { of: [], part: 0.5, is: 0 },
  { of: [7], part: 0.25, is: 7 },
  { of: [15, 42], part: 0.5, is: 28.5 },
  { of: [1, 2, 3, 4, 5], part: 0.75, is: 4 },
])("returns $is as the quantile $part of $of", ({ of, part, is }) => expect(quantile(of, part)).toBe(is));

test.each([
  { max: 2, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2] },
  { max: 10.8, ticks: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
  { max: 1080, ticks: [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000] },
  { max: 45, ticks: [0, 5, 10, 15, 20, 25, 30, 35, 40, 45] },
])("gives a linear scale up to $max round ticks", ({ max, ticks }) => {
  const scale = linearScale(max, [100, 0], 8);
  expect(scale.ticks).toEqual(ticks);
  expect([scale.at(0), scale.at(max / 2), scale.at(max)]).toEqual([100, 50, 0]);
});

test("gives a logarithmic scale ticks at 1, 2 and 5, and places lower values at its start", () => {
  const scale = logScale([10, 1000], [0, 100]);
  expect(scale.ticks).toEqual([10, 20, 50, 100, 200, 500, 1000]);
  expect([scale.at(0), scale.at(10), Math.round(scale.at(100)), scale.at(1000)]).toEqual([0, 0, 50, 100]);
});
