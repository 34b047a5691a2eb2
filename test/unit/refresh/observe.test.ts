import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/model/event.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { isoTime } from "../../../src/model/time.ts";
import { makeFileIdFinder } from "../../../src/plan/recorded-index.ts";
import type { ObserveOptions } from "../../../src/refresh/observe.ts";
import { observe } from "../../../src/refresh/observe.ts";
import { desiredWith, draftWith, recordedWith, wantedSource } from "../../support/planning.ts";
import { fileDocument, productDocument, startHarness, uploadResource } from "../service/support/harness.ts";
import type { RecordedRequest, Reply } from "../service/support/raw-server.ts";
import { answer } from "../service/support/raw-server.ts";
import { fileAt, policyOf, publicationAt, uploadOf } from "./support.ts";

const recorded = recordedWith({
  attachments: [fileAt(1, 1, 100), fileAt(1, 2, 200), fileAt(1, 3, 300)],
  publications: [publicationAt(1, 771200, 50)],
  uploads: ["a", "b"].map((source) => uploadOf(source, { source, sha256: "s" })),
});
const desired = desiredWith({
  drafts: [draftWith(2, { attachments: ["a", "b"].map((source) => wantedSource(2, source, "s")) })],
});

/** A service with everything as recorded and pending uploads. */
function healthy({ method, path }: RecordedRequest): Reply {
  if (method === "PATCH") return answer(200, fileDocument({}));
  if (path.startsWith("/api/products")) return answer(200, productDocument());
  return answer(200, { data: ["a", "b"].map((id) => uploadResource(id, "queued")) });
}

/** Observes one target at a time, in this order: the uploads, the product, and the files from 1 to 3. */
async function observeWith(reply: (request: RecordedRequest) => Reply, parts: Partial<ObserveOptions> = {}) {
  const { service, server } = await startHarness(reply, { rate: { limit: 1000, windowMs: 20 } });
  const events: Event[] = [];
  const result = await observe({
    desired,
    recorded,
    policy: policyOf(),
    reader: service,
    fileIdOf: makeFileIdFinder(recorded),
    settleDelayMs: 0,
    concurrency: 1,
    clock: systemClock,
    emit: (event) => void events.push(event),
    signal: new AbortController().signal,
    ...parts,
  });
  return { ...result, events, requests: server.requests.length, ...result.observed };
}

describe("refresh summary", () => {
  test.each([
    {
      name: "everything within the budget",
      planned: 5,
      policy: policyOf(),
      reply: healthy,
      summary: {
        calls: 5,
        max_calls: 100,
        checked: 6,
        unreadable: 0,
        deferred: 0,
        not_checked: 0,
        oldest_unconfirmed: null,
      },
    },
    {
      name: "everything without a budget",
      planned: 5,
      policy: policyOf({ mode: "full", maxCalls: Infinity }),
      reply: healthy,
      summary: {
        mode: "full",
        calls: 5,
        max_calls: null,
        checked: 6,
        deferred: 0,
        not_checked: 0,
        oldest_unconfirmed: null,
      },
    },
    {
      name: "targets that exceed the budget",
      planned: 3,
      policy: policyOf({ maxCalls: 3 }),
      reply: healthy,
      summary: { calls: 3, checked: 4, deferred: 2, oldest_unconfirmed: isoTime(200) },
    },
    {
      name: "nothing with a budget of 0",
      planned: 0,
      policy: policyOf({ maxCalls: 0 }),
      reply: healthy,
      summary: { calls: 0, checked: 0, deferred: 6, oldest_unconfirmed: isoTime(50) },
    },
    {
      name: "unreadable and deferred targets",
      planned: 5,
      policy: policyOf({ maxCalls: 5 }),
      reply: (request: RecordedRequest) => (request.method === "GET" ? answer(503) : healthy(request)),
      summary: { calls: 5, checked: 0, unreadable: 3, deferred: 3, oldest_unconfirmed: isoTime(50) },
    },
    {
      name: "no files without probes",
      planned: 2,
      policy: policyOf({ attachments: "none" }),
      reply: healthy,
      summary: { attachments: "none", calls: 2, checked: 3, deferred: 0, oldest_unconfirmed: isoTime(100) },
    },
    {
      name: "a gone file as confirmed",
      planned: 3,
      policy: policyOf({ maxCalls: 3 }),
      reply: (request: RecordedRequest) =>
        request.method === "PATCH" ? answer(404, { errors: [{ status: "404" }] }) : healthy(request),
      summary: { calls: 3, checked: 4, deferred: 2, oldest_unconfirmed: isoTime(200) },
    },
  ])("reports $name", async ({ policy, reply, planned, summary }) => {
    const { observed, events, requests } = await observeWith(reply, { policy });
    expect(observed.summary).toMatchObject(summary);
    expect(requests).toBe(summary.calls);
    expect(events).toMatchObject([
      { type: "refresh_started", format_version: 1, calls: planned },
      { type: "refresh_finished", ...observed.summary, drift: observed.drift.length },
    ]);
  });
});

test("returns a failure that stops the run with the observations before it", async () => {
  const { stopped, observed } = await observeWith((request) =>
    request.method === "PATCH" ? answer(401) : healthy(request),
  );
  expect(stopped).toMatchObject({ code: "unauthorized" });
  expect(observed.summary).toMatchObject({ calls: 3, checked: 3, unreadable: 1, deferred: 2 });
  expect(observed.drift).toEqual([]);
});
