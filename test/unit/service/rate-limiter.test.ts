import { describe, expect, it } from "vitest";
import { LedgerError } from "../../../src/ledger/ledger-error.ts";
import { systemClock } from "../../../src/model/ports.ts";
import type { ReservationRequest } from "../../../src/model/rate.ts";
import type { Grant, Slot } from "../../../src/service/rate-limiter.ts";
import { RateLimiter } from "../../../src/service/rate-limiter.ts";
import { SlowStart } from "../../../src/service/slow-start.ts";
import { makeRandom } from "../../support/random.mjs";
import { noSignal, startHarness, target, write } from "./support/harness.ts";
import { largestWindow } from "./support/largest-window.ts";
import { answer } from "./support/raw-server.ts";

function makeLimiter(limit: number, windowMs: number, maxWaitMs = 60_000): RateLimiter {
  return new RateLimiter({
    bound: { limit, windowMs },
    slowStart: new SlowStart(limit),
    clock: systemClock,
    maxWaitMs,
  });
}

async function slotOf(grant: Promise<Grant>): Promise<Slot> {
  const granted = await grant;
  if (granted.type !== "slot") throw new Error(`no slot: ${granted.type}`);
  return granted.slot;
}

describe("rate bound at a real server", () => {
  it("holds in every window under random delays, resets and concurrent calls", async () => {
    const bound = { limit: 5, windowMs: 120 };
    const random = makeRandom(7);
    const { service, server } = await startHarness(
      () => (socket) => {
        const end = random() < 0.15 ? () => socket.destroy() : () => socket.write(answer(204));
        setTimeout(end, random() * 90);
      },
      { rate: bound, concurrency: 8, profile: { settle_delay: "50ms" } },
    );
    const calls = Array.from({ length: 40 }, (_, index) =>
      service.detach({ ...target, fileId: index + 1 }, write()),
    );
    const results = await Promise.all(calls);
    const arrivals = server.requests.map((request) => request.at);
    expect(largestWindow(arrivals, bound.windowMs)).toBeLessThanOrEqual(bound.limit);
    expect(arrivals.length).toBe(service.callCount());
    expect(results.reduce((sum, result) => sum + result.attempts, 0)).toBe(arrivals.length);
    expect(arrivals.length).toBeGreaterThan(40);
  });

  it("keeps the slot of a timed-out call for the settle delay", async () => {
    const { service, server } = await startHarness((_request, index) => (index === 0 ? "" : answer(204)), {
      rate: { limit: 1, windowMs: 50 },
      timeoutMs: 60,
      profile: { settle_delay: "300ms" },
    });
    const begun = performance.now();
    await service.attach(target, {}, write());
    await service.attach(target, {}, write());
    const [, second] = server.requests;
    expect((second?.at ?? 0) - begun).toBeGreaterThanOrEqual(60 + 300);
  });
});

describe("call whose first byte is due more than 5 s after its reservation", () => {
  it("is reserved again before it is sent", async () => {
    let ahead = 0;
    const requests: ReservationRequest[] = [];
    const { service, server } = await startHarness(() => answer(204), {
      clock: { now: () => Date.now(), monotonic: () => performance.now() + ahead },
      rateStore: {
        reserve: async (request) => {
          requests.push(request);
          return { reserved: request.wanted.length, pausedMs: 0 };
        },
      },
    });
    const beforeSend = async () => {
      ahead = 6_000;
    };
    const result = await service.detach(target, write({ beforeSend }));
    expect(result).toMatchObject({ outcome: "done", attempts: 1 });
    expect([server.requests.length, service.callCount()]).toEqual([1, 1]);
    const ids = requests.flatMap(({ wanted }) => wanted);
    expect(ids).toHaveLength(2);
    expect(requests.flatMap(({ unsent }) => unsent)).toEqual(ids.slice(0, 1));
  });

  it("is not sent when the lock was lost before the second reservation", async () => {
    let ahead = 0;
    const { service, server } = await startHarness(() => answer(204), {
      clock: { now: () => Date.now(), monotonic: () => performance.now() + ahead },
      rateStore: { reserve: async ({ wanted }) => ({ reserved: wanted.length, pausedMs: 0 }) },
    });
    const beforeSend = async () => {
      if (ahead > 0) throw new LedgerError("lock-lost", "The lock of the workspace was lost.");
      ahead = 6_000;
    };
    const result = await service.publish(1, write({ beforeSend }));
    expect(result).toMatchObject({
      outcome: "not_sent",
      attempts: 0,
      failure: { code: "lock-lost", stops: "run" },
    });
    expect(server.requests.map(({ method }) => method)).not.toContain("POST");
  });

  it("counts as a failed attempt after three late reservations", async () => {
    let now = 0;
    let reserved = 0;
    const { service, server } = await startHarness(() => answer(204), {
      // The clock advances by more than the life of a reservation at each read.
      clock: {
        now: () => Date.now(),
        monotonic: () => {
          now += 6_000;
          return now;
        },
      },
      rateStore: {
        reserve: async ({ wanted }) => {
          reserved += wanted.length;
          return { reserved: wanted.length, pausedMs: 0 };
        },
      },
    });
    const result = await service.detach(target, write());
    expect(reserved).toBe(5);
    const failure = { code: "rate-limiter-unavailable" };
    expect(result).toMatchObject({ outcome: "not_sent", attempts: 3, failure });
    expect(server.requests).toEqual([]);
  });
});

describe("RateLimiter", () => {
  it("serves in the order of arrival", async () => {
    const limiter = makeLimiter(1, 5);
    const order: number[] = [];
    const all = [1, 2, 3, 4].map(async (name) => {
      const slot = await slotOf(limiter.acquire(noSignal()));
      order.push(name);
      slot.release();
    });
    await Promise.all(all);
    expect(order).toEqual([1, 2, 3, 4]);
  });

  it("removes an aborted call from the queue, and keeps the order of the others", async () => {
    const limiter = makeLimiter(1, 5);
    const first = await slotOf(limiter.acquire(noSignal()));
    const controller = new AbortController();
    const second = limiter.acquire(controller.signal);
    const third = limiter.acquire(noSignal());
    controller.abort();
    expect(await second).toEqual({ type: "interrupted" });
    first.cancel();
    (await slotOf(third)).cancel();
  });

  it("gives no slot to an aborted call", async () => {
    const limiter = makeLimiter(1, 5);
    expect(await limiter.acquire(AbortSignal.abort())).toEqual({ type: "interrupted" });
    (await slotOf(limiter.acquire(noSignal()))).cancel();
  });

  it("ends all waits when it is closed, and gives no slot afterwards", async () => {
    const limiter = makeLimiter(1, 1000);
    await slotOf(limiter.acquire(noSignal()));
    const waiting = [limiter.acquire(noSignal()), limiter.acquire(noSignal())];
    limiter.close();
    expect(await Promise.all(waiting)).toEqual([{ type: "interrupted" }, { type: "interrupted" }]);
    expect(await limiter.acquire(noSignal())).toEqual({ type: "interrupted" });
  });

  it("counts repeated releases of a slot once", async () => {
    const limiter = makeLimiter(2, 60_000);
    const slot = await slotOf(limiter.acquire(noSignal()));
    slot.cancel();
    slot.cancel();
    slot.release();
    await slotOf(limiter.acquire(noSignal()));
    await slotOf(limiter.acquire(noSignal()));
    const third = limiter.acquire(noSignal());
    limiter.close();
    expect(await third).toEqual({ type: "interrupted" });
  });

  it("ends all waits at a pause longer than max_wait", async () => {
    const limiter = makeLimiter(1, 60_000, 1000);
    const slot = await slotOf(limiter.acquire(noSignal()));
    const waiting = limiter.acquire(noSignal());
    limiter.pause({ ms: 5000, refused: true });
    expect(await waiting).toMatchObject({ type: "too_long" });
    expect(await limiter.acquire(noSignal())).toMatchObject({ type: "too_long" });
    expect(limiter.isOpen()).toBe(false);
    slot.cancel();
  });
});
