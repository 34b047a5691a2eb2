import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Grant,
  RateLimiter,
  type RateLimiterOptions,
  type Slot,
} from "../../../src/service/rate-limiter.ts";
import { SlowStart } from "../../../src/service/slow-start.ts";
import { noSignal } from "./support/harness.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

let now = 0;
const clock = { now: () => now, monotonic: () => now };

function makeLimiter(options: Partial<RateLimiterOptions> & Pick<RateLimiterOptions, "bound">): RateLimiter {
  now = 0;
  return new RateLimiter({
    slowStart: new SlowStart(options.bound.limit),
    clock,
    maxWaitMs: 60_000,
    ...options,
  });
}

async function pass(ms: number): Promise<void> {
  now += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

/** What came of asking so far. */
function ask(limiter: RateLimiter): {
  readonly type: () => Grant["type"] | "waits";
  readonly slot: () => Slot;
} {
  let granted: Grant | undefined;
  void limiter.acquire(noSignal()).then((grant) => {
    granted = grant;
  });
  return {
    type: () => granted?.type ?? "waits",
    slot: () => {
      if (granted?.type !== "slot") throw new Error(`no slot: ${granted?.type}`);
      return granted.slot;
    },
  };
}

async function take(limiter: RateLimiter): Promise<Slot> {
  const asked = ask(limiter);
  await pass(0);
  return asked.slot();
}

async function expectWait(limiter: RateLimiter): Promise<void> {
  const asked = ask(limiter);
  await pass(0);
  expect(asked.type()).toBe("waits");
}

describe("a wait ends", () => {
  it("with the window, by one timer", async () => {
    const limiter = makeLimiter({ bound: { limit: 1, windowMs: 100 } });
    (await take(limiter)).release();
    const [second, third] = [ask(limiter), ask(limiter)];
    expect(vi.getTimerCount()).toBe(1);
    await pass(101);
    expect(second.type()).toBe("waits");
    await pass(1);
    expect([second.type(), third.type()]).toEqual(["slot", "waits"]);
  });

  it("with the window, also for one that came at the very end of it", async () => {
    const limiter = makeLimiter({ bound: { limit: 1, windowMs: 100 } });
    (await take(limiter)).release();
    now += 101;
    const second = ask(limiter);
    await pass(1);
    expect(second.type()).toBe("slot");
  });

  it("with the end of a call, and no timer is set for that", async () => {
    const limiter = makeLimiter({ bound: { limit: 1, windowMs: 100 } });
    const first = await take(limiter);
    const second = ask(limiter);
    expect(vi.getTimerCount()).toBe(0);
    first.cancel();
    await pass(0);
    expect(second.type()).toBe("slot");
  });

  it("with a pause, also one that is as long as any that is waited for, and not with a longer one", async () => {
    const limiter = makeLimiter({ bound: { limit: 1, windowMs: 1 }, maxWaitMs: 1_000 });
    limiter.pause({ ms: 1_000, refused: false });
    const first = ask(limiter);
    await pass(999);
    expect(first.type()).toBe("waits");
    await pass(2);
    first.slot().cancel();
    limiter.pause({ ms: 1_001, refused: false });
    const second = ask(limiter);
    await pass(0);
    expect(second.type()).toBe("too_long");
  });

  it("after a refusal only as calls succeed that were sent after it, each counted once", async () => {
    const limiter = makeLimiter({ bound: { limit: 8, windowMs: 1 } });
    const early = await take(limiter);
    limiter.pause({ ms: 10, refused: true });
    await pass(11);
    early.release({ succeeded: true });
    await pass(3);
    const first = await take(limiter);
    first.release();
    await pass(3);
    await take(limiter);
    await expectWait(limiter);
    limiter.close();
  });

  it("twice as many at a time after each success, however often one is released", async () => {
    const limiter = makeLimiter({ bound: { limit: 8, windowMs: 1 } });
    limiter.pause({ ms: 10, refused: true });
    await pass(11);
    const first = await take(limiter);
    for (const _again of [1, 2, 3]) first.release({ succeeded: true });
    await pass(3);
    const next = [ask(limiter), ask(limiter), ask(limiter)];
    await pass(0);
    expect(next.map(({ type }) => type())).toEqual(["slot", "slot", "waits"]);
  });
});

describe("a bound that the service announces", () => {
  it("is kept beside the configured one: calls wait for its window, by a timer", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    limiter.tighten({ limit: 1, windowMs: 500 });
    (await take(limiter)).release();
    const second = ask(limiter);
    await pass(501);
    expect(second.type()).toBe("waits");
    await pass(1);
    second.slot();
    await expectWait(limiter);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    [1_000, "slot"],
    [999, "too_long"],
  ] as const)("whose window of 1 s is waited for up to %i ms ends in %s", async (maxWaitMs, type) => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 }, maxWaitMs });
    limiter.tighten({ limit: 1, windowMs: 999 });
    (await take(limiter)).release();
    const second = ask(limiter);
    await pass(1_001);
    expect(second.type()).toBe(type);
  });

  it("is waited for to its very end, also by one that came then", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    limiter.tighten({ limit: 1, windowMs: 500 });
    (await take(limiter)).release();
    now += 501;
    const second = ask(limiter);
    await pass(1);
    expect(second.type()).toBe("slot");
  });

  it("is known from its first announcement on: when it is lowered, calls from before count", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    limiter.tighten({ limit: 1_000, windowMs: 500 });
    (await take(limiter)).release();
    limiter.tighten({ limit: 1, windowMs: 500 });
    await expectWait(limiter);
  });

  it("is reported when it is announced first, and when it changes", () => {
    const reported: unknown[] = [];
    const limiter = makeLimiter({
      bound: { limit: 5, windowMs: 10 },
      onAnnounced: ({ limit, windowMs }) => void reported.push([limit, windowMs]),
    });
    for (const limit of [7, 7, 3, 3]) limiter.tighten({ limit, windowMs: 500 });
    limiter.tighten({ limit: 3, windowMs: 400 });
    expect(reported).toEqual([
      [7, 500],
      [3, 500],
      [3, 400],
    ]);
  });

  it("is one of four at most", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    for (const windowMs of [100, 200, 300, 400]) limiter.tighten({ limit: 10, windowMs });
    limiter.tighten({ limit: 1_000, windowMs: 500 });
    (await take(limiter)).release();
    limiter.tighten({ limit: 1, windowMs: 500 });
    (await take(limiter)).release();
    limiter.tighten({ limit: 1, windowMs: 400 });
    await expectWait(limiter);
  });

  it("takes the place of the loosest when there are four of them", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    for (const windowMs of [200, 100, 300, 400]) limiter.tighten({ limit: 1_000, windowMs });
    limiter.tighten({ limit: 1, windowMs: 500 });
    (await take(limiter)).release();
    await expectWait(limiter);
  });
});
