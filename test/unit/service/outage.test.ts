import { describe, expect, it } from "vitest";
import type { Call } from "../../../src/service/calls.ts";
import { Outage } from "../../../src/service/outage.ts";
import { fileDocument, startHarness, target, write } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

type Line = Pick<Call<unknown>, "path" | "callClass">;
const about = (draft: number): Line => ({
  path: `/api/drafts/${draft}/product_files/1`,
  callClass: "update",
});
const publish: Line = { path: "/api/products", callClass: "non_idempotent" };
const upload: Line = { path: "/api/uploads", callClass: "register" };
const answered = (call: Line) => ({ answered: call });

/** What each lost call stops, when so many seconds pass between them. */
function stopsOf(calls: readonly (Line | { readonly answered: Line })[], seconds: number) {
  const outage = new Outage();
  return calls.flatMap((call, index) => {
    const now = index * seconds * 1000;
    if ("answered" in call) {
      outage.answered(call.answered);
      return [];
    }
    outage.attemptLost(now);
    return [outage.lost(call, now)];
  });
}

const [one, two] = [about(1), about(2)];
const operation = "operation";

describe("without an outcome in a row,", () => {
  it.each([
    ["about several drafts stop the run", [one, two, one, two, one], "run"],
    ["about one draft stop that draft", [one, one, one, one, one], "draft"],
    ["about one draft and its uploads stop the draft", [one, upload, one, upload, one], "draft"],
    ["that register uploads stop the run", [upload, upload, upload, upload, upload], "run"],
  ])("five calls %s, over more than ten seconds", (_name, calls, stops) => {
    expect(stopsOf(calls, 3)).toEqual([operation, operation, operation, operation, stops]);
    expect(stopsOf(calls, 2)).toEqual([operation, operation, operation, operation, operation]);
  });

  it("a call about a second draft stops the run once a first draft was stopped", () => {
    expect(stopsOf([one, one, one, one, one, two], 3).slice(-2)).toEqual(["draft", "run"]);
  });

  it("calls stop nothing while the service answers in between", () => {
    const calls = [one, two, one, two, answered(one), one, two, one, two];
    expect(new Set(stopsOf(calls, 60))).toEqual(new Set([operation]));
  });

  it("three publishes stop the run at once, also while files are answered", () => {
    expect(stopsOf([publish, publish, publish], 0)).toEqual([operation, operation, "run"]);
    expect(stopsOf([publish, answered(one), publish, answered(one), publish], 0).at(-1)).toBe("run");
    expect(stopsOf([publish, publish, answered(publish), publish], 0)).not.toContain("run");
  });
});

it("counts the time from the first attempt that was lost", () => {
  const outage = new Outage();
  outage.attemptLost(0);
  const stops = [one, two, one, two, one].map((call) => outage.lost(call, 18_000));
  expect(stops.at(-1)).toBe("run");
});

it("stops a draft whose calls the service does not answer", async () => {
  let skew = 0;
  const clock = { now: () => Date.now() + skew, monotonic: () => performance.now() + skew };
  const { service } = await startHarness(
    (_request, index) => (index === 0 ? answer(201, fileDocument()) : answer(503)),
    { clock },
  );
  const stops: string[] = [];
  for (let call = 0; call < 6; call += 1) {
    const result = await service.attach(target, {}, write());
    stops.push(result.outcome === "done" ? "done" : result.failure.stops);
    skew += 3_000;
  }
  expect(stops).toEqual(["done", operation, operation, operation, operation, "draft"]);
});
