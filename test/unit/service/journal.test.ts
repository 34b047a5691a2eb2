import { describe, expect, it } from "vitest";
import { fileDocument, firstGapMs, makeLatch, startHarness, target, write } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

describe("beforeSend", () => {
  it("completes before the first byte leaves, and receives the request", async () => {
    const journal: unknown[] = [];
    const { service } = await startHarness(
      (request) => {
        journal.push(`${request.method} ${request.path} arrived`);
        return answer(200, fileDocument());
      },
      { path: "/prefix" },
    );
    const storing = makeLatch();
    const attaching = service.attach(
      target,
      {},
      write({
        beforeSend: async (request) => {
          journal.push(request);
          await storing.opened;
          journal.push("stored");
        },
      }),
    );
    setImmediate(storing.open);
    await attaching;
    expect(journal).toEqual([
      { method: "POST", path: "/api/drafts/48213/product_files" },
      "stored",
      "POST /prefix/api/drafts/48213/product_files arrived",
    ]);
  });

  it("runs before each attempt", async () => {
    let calls = 0;
    const { service, server } = await startHarness((_request, index) =>
      index < 2 ? answer(503) : answer(204),
    );
    await service.detach(
      target,
      write({
        beforeSend: async () => {
          calls += 1;
        },
      }),
    );
    expect([calls, server.requests.length]).toEqual([3, 3]);
  });

  it("prevents the retry of a refused call when it fails", async () => {
    const { service, server } = await startHarness(() => answer(429, undefined, { "Retry-After": "0.1" }));
    let calls = 0;
    const beforeSend = async () => {
      calls += 1;
      if (calls > 1) throw new Error("the lock was lost");
    };
    const result = await service.detach(target, write({ beforeSend }));
    expect(result).toMatchObject({ outcome: "rejected", attempts: 1 });
    expect(server.requests).toHaveLength(1);
  });

  it("prevents the call, passes its error on and frees the slot when it fails", async () => {
    const { service, server } = await startHarness(() => answer(204), {
      rate: { limit: 1, windowMs: 60_000 },
      concurrency: 1,
    });
    const full = new Error("disk full");
    const failing = service.attach(target, {}, write({ beforeSend: () => Promise.reject(full) }));
    await expect(failing).rejects.toBe(full);
    expect(service.callCount()).toBe(0);
    expect(await service.detach(target, write())).toMatchObject({ outcome: "done" });
    expect(server.requests.map((request) => request.method)).toEqual(["DELETE"]);
  });

  it("runs only when the call has a slot", async () => {
    const answerFirst = makeLatch();
    const { service } = await startHarness(
      (_request, index) => async (socket) => {
        if (index === 0) await answerFirst.opened;
        socket.write(answer(204));
      },
      { rate: { limit: 1, windowMs: 1 } },
    );
    const order: string[] = [];
    const first = service.detach(target, write()).then(() => order.push("first answered"));
    const second = service.detach(
      { ...target, fileId: 2 },
      write({
        beforeSend: async () => {
          order.push("second stored");
        },
      }),
    );
    setImmediate(answerFirst.open);
    await Promise.all([first, second]);
    expect(order).toEqual(["first answered", "second stored"]);
  });

  it("does not run for a call that is aborted before its slot", async () => {
    let calls = 0;
    const { service } = await startHarness(() => answer(204));
    const beforeSend = async () => {
      calls += 1;
    };
    const result = await service.publish(1, write({ beforeSend, signal: AbortSignal.abort() }));
    expect(result).toMatchObject({ outcome: "not_sent", attempts: 0, failure: { code: "aborted" } });
    expect(calls).toBe(0);
  });

  it("can abort the call", async () => {
    const controller = new AbortController();
    const { service, server } = await startHarness(() => answer(204));
    const beforeSend = async () => controller.abort();
    const result = await service.detach(target, write({ beforeSend, signal: controller.signal }));
    expect(result).toMatchObject({ outcome: "not_sent", attempts: 0, failure: { code: "aborted" } });
    expect(server.requests).toEqual([]);
  });

  it("waits for the response to a sent call that is aborted", async () => {
    const controller = new AbortController();
    const { service } = await startHarness(() => (socket) => {
      controller.abort();
      setImmediate(() => socket.write(answer(204)));
    });
    expect(await service.detach(target, write({ signal: controller.signal }))).toMatchObject({
      outcome: "done",
    });
  });

  it("delays a call further when the service asks for a pause while its intent is stored", async () => {
    const { service, server } = await startHarness((_request, index) =>
      index === 0 ? answer(429, undefined, { "Retry-After": "0.3" }) : answer(204),
    );
    const storing = makeLatch();
    const refused = makeLatch();
    const second = service.detach(
      { ...target, fileId: 2 },
      write({
        beforeSend: async () => {
          storing.open();
          await refused.opened;
        },
      }),
    );
    await storing.opened;
    await service.attach(target, {}, write());
    refused.open();
    await second;
    expect(server.requests.map((request) => request.method)).toEqual(["POST", "DELETE"]);
    expect(firstGapMs(server)).toBeGreaterThanOrEqual(290);
  });
});
