import { describe, expect, it } from "vitest";
import type { Event } from "../../../src/model/event.ts";
import {
  fileDocument,
  firstGapMs,
  noSignal,
  productDocument,
  startHarness,
  target,
  write,
} from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

const waits = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === "waiting" ? [{ reason: event.reason, ms: event.ms }] : []));

/** An HTTP date some seconds from now, rounded up so that it is never early. */
const dateIn = (seconds: number) => new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000).toUTCString();

describe("throttling by the service", () => {
  it.each([
    ["429 with seconds", 429, () => ({ "Retry-After": "1" })],
    ["503 with seconds", 503, () => ({ "Retry-After": "1" })],
    ["429 with a date", 429, () => ({ "Retry-After": dateIn(1) })],
    ["429 with a past date", 429, () => ({ "Retry-After": "Sun, 01 Mar 2020 12:00:00 GMT" })],
    ["429 with a reset", 429, () => ({ RateLimit: '"default";r=0;t=1' })],
    ["425 without a time", 425, () => ({})],
  ])("sends nothing before the requested time: %s", async (_name, status, headers) => {
    const { service, server, events } = await startHarness((_request, index) =>
      index === 0 ? answer(status, undefined, headers()) : answer(200, fileDocument()),
    );
    const result = await service.update(target, { file_format: "fbx" }, write());
    expect(result).toMatchObject({ outcome: "done", attempts: 2 });
    expect(firstGapMs(server)).toBeGreaterThanOrEqual(990);
    expect(waits(events)[0]).toMatchObject({ reason: "retry_after" });
  });

  it("pauses every call after one is refused", async () => {
    const { service, server } = await startHarness((_request, index) =>
      index === 0 ? answer(429, undefined, { "Retry-After": "0.3" }) : answer(204),
    );
    await service.attach(target, {}, write());
    await service.detach({ ...target, fileId: 2 }, write());
    expect(firstGapMs(server)).toBeGreaterThanOrEqual(290);
  });

  it("slows down at an exhausted quota without a refusal", async () => {
    const { service, server } = await startHarness(() =>
      answer(204, undefined, { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "0.3" }),
    );
    await service.detach(target, write());
    await service.detach(target, write());
    expect(firstGapMs(server)).toBeGreaterThanOrEqual(290);
  });

  it("never exceeds the configured bound", async () => {
    const { service, server } = await startHarness(
      () => answer(204, undefined, { "RateLimit-Policy": '"x";q=1000;w=1', RateLimit: '"x";r=999;t=1' }),
      { rate: { limit: 1, windowMs: 200 } },
    );
    await service.detach(target, write());
    await service.detach(target, write());
    expect(firstGapMs(server)).toBeGreaterThanOrEqual(200);
  });

  it("ends the call and the run at a Retry-After beyond max_wait", async () => {
    const { service, server } = await startHarness(() => answer(429, undefined, { "Retry-After": "3600" }), {
      profile: { max_wait: "1m" },
    });
    const refused = await service.update(target, {}, write());
    expect(refused).toMatchObject({
      outcome: "rejected",
      attempts: 1,
      failure: { code: "retry-after-too-long", status: 429, stops: "run" },
    });
    const held = await service.update(target, {}, write());
    const until = /: until \d{4}-\d\d-\d\d \d\d:\d\d UTC$/;
    for (const end of [refused, held])
      expect(end.outcome === "done" ? "" : end.failure.message).toMatch(until);
    expect(held).toMatchObject({
      outcome: "not_sent",
      attempts: 0,
      failure: { code: "retry-after-too-long", stops: "run" },
    });
    expect(server.requests).toHaveLength(1);
  });

  it("reports one pause for all calls in flight, and none when it stops the run", async () => {
    const { service, events } = await startHarness(
      (_request, index) => (index < 3 ? answer(429, undefined, { "Retry-After": "1" }) : answer(204)),
      { concurrency: 3 },
    );
    await Promise.all([1, 2, 3].map(() => service.detach(target, write())));
    expect(waits(events).filter(({ reason }) => reason === "retry_after")).toHaveLength(1);
    const stopped = await startHarness(() => answer(429, undefined, { "Retry-After": "3600" }), {
      profile: { max_wait: "1m" },
    });
    await stopped.service.detach(target, write());
    expect(waits(stopped.events)).toEqual([]);
  });

  it("counts simultaneous refusals of calls in flight as one", async () => {
    const { service, events } = await startHarness((_request, index) => answer(index < 6 ? 429 : 204), {
      concurrency: 6,
      profile: { max_wait: "3s" },
    });
    const ends = await Promise.all([1, 2, 3, 4, 5, 6].map(() => service.detach(target, write())));
    expect(ends.map(({ outcome }) => outcome)).toEqual(Array(6).fill("done"));
    expect(waits(events).filter(({ reason }) => reason === "retry_after")).toHaveLength(1);
  });

  it("stops the run after max_wait when the service refuses every call", async () => {
    const { service, server } = await startHarness(() => answer(429), { profile: { max_wait: "2500ms" } });
    const refused = { outcome: "rejected", attempts: 2, failure: { code: "rate-limited", stops: "run" } };
    expect(await service.detach(target, write())).toMatchObject(refused);
    expect(server.requests).toHaveLength(2);
  });

  it("waits at most max_wait for an exhausted quota, then continues", async () => {
    const { service, server } = await startHarness(
      () => answer(204, undefined, { RateLimit: "limit=10, remaining=0, reset=86400" }),
      { profile: { max_wait: "50ms" } },
    );
    await service.detach(target, write());
    expect(await service.detach(target, write())).toMatchObject({ outcome: "done" });
    expect(server.requests).toHaveLength(2);
  });

  it("ends an aborted call immediately while it waits", async () => {
    const { service, server } = await startHarness(() => answer(429, undefined, { "Retry-After": "60" }));
    await service.attach(target, {}, write());
    const controller = new AbortController();
    const waiting = service.detach(target, write({ signal: controller.signal }));
    controller.abort();
    expect(await waiting).toMatchObject({
      outcome: "not_sent",
      attempts: 0,
      failure: { code: "aborted", stops: "run" },
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe("retries", () => {
  it("end after three attempts and are reported", async () => {
    const { service, server, events } = await startHarness(() => answer(503));
    const result = await service.update(target, {}, write());
    expect(result).toMatchObject({
      outcome: "unknown",
      attempts: 3,
      failure: { code: "server-error", status: 503 },
    });
    expect(server.requests).toHaveLength(3);
    expect(events.filter((event) => event.type === "call_finished")).toMatchObject(
      [1, 2, 3].map((attempt) => ({
        method: "PATCH",
        path: "/api/drafts/48213/product_files/9900011",
        attempt,
        outcome: "unknown",
        status: 503,
      })),
    );
    expect(waits(events)).toEqual([
      { reason: "backoff", ms: 0 },
      { reason: "backoff", ms: 0 },
    ]);
  });

  it("end when the retry budget of the process is exhausted", async () => {
    const { service, server } = await startHarness(() => answer(500));
    const attempts: number[] = [];
    for (let call = 0; call < 8; call += 1) {
      attempts.push((await service.getProduct(1, undefined, noSignal())).attempts);
    }
    expect(attempts).toEqual([3, 3, 3, 3, 3, 1, 1, 1]);
    expect(server.requests).toHaveLength(18);
  });

  it.each([
    ["refused", answer(422), "unknown", "server-error"],
    ["unauthorized", answer(401), "unknown", "server-error"],
    [
      "refused because the file is not attached",
      answer(404, { errors: [{ title: "no" }] }),
      "rejected",
      "not-attached",
    ],
    ["a 404 from a proxy", answer(404), "unknown", "server-error"],
    ["successful", answer(200, fileDocument()), "done", undefined],
  ])("keep the doubt of the first attempt when the second is %s", async (_name, second, outcome, code) => {
    const { service } = await startHarness((_request, index) => (index === 0 ? answer(500) : second));
    const result = await service.update(target, {}, write());
    expect([result.outcome, result.outcome === "done" ? undefined : result.failure.code]).toEqual([
      outcome,
      code,
    ]);
  });

  it("stop the run when a later attempt does, also in doubt", async () => {
    const { service } = await startHarness((_request, index) => answer(index === 0 ? 500 : 401));
    expect(await service.update(target, {}, write())).toMatchObject({
      outcome: "unknown",
      failure: { stops: "run" },
    });
  });

  it("report the last attempt of a read", async () => {
    const { service } = await startHarness((_request, index) =>
      answer(index === 0 ? 500 : 403, productDocument()),
    );
    const result = await service.getProduct(1, undefined, noSignal());
    expect(result).toMatchObject({ outcome: "rejected", failure: { code: "forbidden" } });
  });
});
