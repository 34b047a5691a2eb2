import { describe, expect, test } from "vitest";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wanted,
  wantedFile,
  wantedSource,
} from "../../support/planning.ts";

const rate = { limit: 10, windowMs: 1000 };

describe("cost estimate", () => {
  const byRef = (ref: Parameters<typeof wanted>[2]) => wanted(1, "product_files", ref);
  test.each([
    [0, 0, "no changes", []],
    [34, 4, "34 attachments", Array.from({ length: 34 }, (_none, at) => wantedFile(1, at + 1))],
    [4, 1, "a source: credentials, registration, poll, attach", [wantedSource(1, "a", "s")]],
    [
      6,
      1,
      "two sources: they share credentials and polls",
      [wantedSource(1, "a", "s"), wantedSource(1, "b", "t")],
    ],
    [3, 1, "an upload key: no credentials", [byRef({ by: "upload_key", uploadKey: "k" })]],
    [2, 1, "a registered upload: poll, attach", [byRef({ by: "upload_id", uploadId: "u" })]],
  ])("is %i calls and %i s for %s", (min, seconds, _name, attachments) => {
    const { estimate } = planOf(desiredWith({ drafts: [draftWith(1, { attachments })] }), recordedWith());
    expect(estimate.calls.min).toBe(min);
    expect(estimate.seconds).toBe(seconds);
    expect(estimate.calls.max).toBeGreaterThanOrEqual(min);
  });

  test("counts the upload of a source in two drafts once", () => {
    const drafts = [1, 2].map((id) => draftWith(id, { attachments: [wantedSource(id, "a", "s")] }));
    expect(planOf(desiredWith({ drafts }), recordedWith()).estimate.calls.min).toBe(5);
  });

  test("is no calls for changes that only affect the ledger", () => {
    const drafts = [draftWith(1, { protect: true, attachments: [wantedFile(1, 1)] })];
    const attachments = [recordedFile(1, 1, { address: "drafts/1/product_files/source:a" })];
    const plan = planOf(desiredWith({ drafts }), recordedWith({ attachments }), { rate });
    expect(plan.changes.map(({ action }) => action)).toEqual(["update", "adopt"]);
    expect(plan.estimate.calls).toEqual({ min: 0, max: 0 });
  });

  test("derives the time from the rate limit", () => {
    const attachments = Array.from({ length: 100 }, (_none, at) => wantedFile(1, at + 1));
    const desired = desiredWith({ drafts: [draftWith(1, { attachments })] });
    const seconds = (limit: number, windowMs: number) =>
      planOf(desired, recordedWith(), { rate: { limit, windowMs } }).estimate.seconds;
    expect([seconds(10, 1000), seconds(100, 60_000), seconds(1000, 1000)]).toEqual([10, 60, 1]);
  });
});
