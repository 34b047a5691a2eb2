import { describe, expect, it } from "vitest";
import type { Call } from "../../../src/service/calls.ts";
import { Outage } from "../../../src/service/outage.ts";
import { refusal } from "./support/failure-rows.ts";
import { fileDocument, startHarness, target, write } from "./support/harness.ts";
import { answer, type Reply } from "./support/raw-server.ts";

type Line = Pick<Call<unknown>, "path" | "callClass">;
const about = (draft: number): Line => ({
  path: `/api/drafts/${draft}/product_files/1`,
  callClass: "update",
});
const publish: Line = { path: "/api/products", callClass: "non_idempotent" };
const upload: Line = { path: "/api/uploads", callClass: "register" };
const answered = (call: Line) => ({ answered: call });

/** The scope that each lost call stops, at this interval. */
function stopsOf(
  calls: readonly (Line | { readonly answered: Line; readonly isSettled?: false })[],
  seconds: number,
) {
  const outage = new Outage();
  return calls.flatMap((call, index) => {
    const now = index * seconds * 1000;
    if ("answered" in call) {
      outage.answered(call.answered, call.isSettled ?? true);
      return [];
    }
    outage.attemptLost(call, now);
    outage.lost(call);
    return [outage.stopOf(call, now)];
  });
}

const [one, two] = [about(1), about(2)];
const operation = "operation";

describe("consecutive calls without an outcome", () => {
  it("stop a draft after five of its calls over more than ten seconds", () => {
    expect(stopsOf([one, one, one, one, one], 3)).toEqual([
      operation,
      operation,
      operation,
      operation,
      "draft",
    ]);
    expect(stopsOf([one, one, one, one, one], 2)).not.toContain("draft");
    expect(stopsOf([one, two, one, two, one, two, one, two, one, two], 3).slice(-2)).toEqual([
      "draft",
      "draft",
    ]);
  });

  it("count as an outage after five calls when nothing responded for a minute", () => {
    expect(stopsOf([one, two, one, two, upload, upload], 15).slice(-2)).toEqual(["silence", "silence"]);
    expect(stopsOf([upload, upload, upload, upload, upload], 14)).not.toContain("silence");
  });

  it("do not stop the run while calls of other drafts get responses", () => {
    const calls = [one, one, answered(two), one, one, answered(two), one];
    expect(stopsOf(calls, 30).at(-1)).toBe("draft");
    const refused = { answered: one, isSettled: false } as const;
    expect(stopsOf([one, refused, one, refused, one, refused, one, refused, one], 30).at(-1)).toBe("draft");
  });

  it("stop the run after three publishes, also while calls for files get responses", () => {
    expect(stopsOf([publish, publish, publish], 0)).toEqual([operation, operation, "run"]);
    expect(stopsOf([publish, answered(one), publish, answered(one), publish], 0).at(-1)).toBe("run");
    expect(stopsOf([publish, publish, answered(publish), publish], 0)).not.toContain("run");
  });
});

it("counts the time from the first lost attempt", () => {
  const outage = new Outage();
  outage.attemptLost(one, 0);
  for (const call of [one, one, one, one, one]) outage.lost(call);
  expect(outage.stopOf(one, 18_000)).toBe("draft");
});

it("stops a draft whose calls get no response", async () => {
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

describe("minute without a response", () => {
  async function stopsWhen(read: Reply): Promise<{ stops: readonly string[]; reads: number }> {
    let skew = 0;
    const clock = { now: () => Date.now() + skew, monotonic: () => performance.now() + skew };
    const { service, server } = await startHarness(({ method }) => (method === "GET" ? read : answer(503)), {
      clock,
    });
    const stops: string[] = [];
    for (let call = 0; call < 7; call += 1) {
      const result = await service.attach({ ...target, draftId: call + 1 }, {}, write());
      stops.push(result.outcome === "done" ? "done" : result.failure.stops);
      skew += 15_000;
    }
    return { stops, reads: server.requests.filter(({ path }) => path === "/api/uploads/0").length };
  }

  it("stops the run when a read that concerns no draft gets no response either", async () => {
    const { stops } = await stopsWhen(answer(503));
    expect(stops.slice(0, 5)).toEqual([operation, operation, operation, operation, "run"]);
  });

  it("stops only the drafts when that read gets a response", async () => {
    const { stops, reads } = await stopsWhen(answer(404, refusal));
    expect(stops).not.toContain("run");
    expect(reads).toBe(1);
  });
});
