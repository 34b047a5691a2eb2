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

describe("the cost", () => {
  test.each([
    { name: "nothing", attachments: [], min: 0, seconds: 0 },
    {
      name: "34 attachments",
      attachments: Array.from({ length: 34 }, (_none, at) => wantedFile(1, at + 1)),
      min: 34,
      seconds: 4,
    },
    {
      name: "a source: credentials, registration, poll, attachment",
      attachments: [wantedSource(1, "a", "s")],
      min: 4,
      seconds: 1,
    },
    {
      name: "two sources share credentials and poll",
      attachments: [wantedSource(1, "a", "s"), wantedSource(1, "b", "t")],
      min: 6,
      seconds: 1,
    },
    {
      name: "a key needs no credentials",
      attachments: [wanted(1, "product_files", { by: "upload_key", uploadKey: "k" })],
      min: 3,
      seconds: 1,
    },
    {
      name: "an upload that is registered is only waited for",
      attachments: [wanted(1, "product_files", { by: "upload_id", uploadId: "u" })],
      min: 2,
      seconds: 1,
    },
  ])("of $name is $min calls in $seconds s", ({ attachments, min, seconds }) => {
    const { estimate } = planOf(desiredWith({ drafts: [draftWith(1, { attachments })] }), recordedWith());
    expect(estimate.calls.min).toBe(min);
    expect(estimate.seconds).toBe(seconds);
    expect(estimate.calls.max).toBeGreaterThanOrEqual(min);
  });

  test("a source in two drafts is uploaded once", () => {
    const drafts = [1, 2].map((id) => draftWith(id, { attachments: [wantedSource(id, "a", "s")] }));
    expect(planOf(desiredWith({ drafts }), recordedWith()).estimate.calls.min).toBe(5);
  });

  test("what only changes the ledger costs nothing", () => {
    const drafts = [draftWith(1, { protect: true, attachments: [wantedFile(1, 1)] })];
    const attachments = [recordedFile(1, 1, { address: "drafts/1/product_files/source:a" })];
    const plan = planOf(desiredWith({ drafts }), recordedWith({ attachments }), { rate });
    expect(plan.changes.map(({ action }) => action)).toEqual(["update", "adopt"]);
    expect(plan.estimate.calls).toEqual({ min: 0, max: 0 });
  });

  test("the time follows the bound", () => {
    const attachments = Array.from({ length: 100 }, (_none, at) => wantedFile(1, at + 1));
    const desired = desiredWith({ drafts: [draftWith(1, { attachments })] });
    const seconds = (limit: number, windowMs: number) =>
      planOf(desired, recordedWith(), { rate: { limit, windowMs } }).estimate.seconds;
    expect([seconds(10, 1000), seconds(100, 60_000), seconds(1000, 1000)]).toEqual([10, 60, 1]);
  });
});
