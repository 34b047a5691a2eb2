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

/** Requests a slot, and shows the grant so far. */
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

describe("wait for a slot", () => {
  it("ends with the window, by one timer", async () => {
    const limiter = makeLimiter({ bound: { limit: 1, windowMs: 100 } });
    (await take(limiter)).release();
    const [second, third] = [ask(limiter), ask(limiter)];
    expect(vi.getTimerCount()).toBe(1);
    await pass(101);
    expect(second.type()).toBe("waits");
    await pass(1);
    expect([second.type(), third.type()]).toEqual(["slot", "waits"]);
  });

  it("ends with the window also for a call that arrives at its end", async () => {
    const limiter = makeLimiter({ bound: { limit: 1, windowMs: 100 } });
    (await take(limiter)).release();
    now += 101;
    const second = ask(limiter);
    await pass(1);
    expect(second.type()).toBe("slot");
  });

  it("ends without a timer when a call ends", async () => {
    const limiter = makeLimiter({ bound: { limit: 1, windowMs: 100 } });
    const first = await take(limiter);
    const second = ask(limiter);
    expect(vi.getTimerCount()).toBe(0);
    first.cancel();
    await pass(0);
    expect(second.type()).toBe("slot");
  });

  it("ends after a pause of max_wait, and immediately at a longer one", async () => {
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

  it("ends after a refusal only as calls sent after it succeed", async () => {
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

  it("ends for twice as many calls after each success, counting each slot once", async () => {
    const limiter = makeLimiter({ bound: { limit: 8, windowMs: 1 } });
    limiter.pause({ ms: 10, refused: true });
    expect(limiter.isOpen()).toBe(false);
    await pass(11);
    expect(limiter.isOpen()).toBe(true);
    const first = await take(limiter);
    for (const _again of [1, 2, 3]) first.release({ succeeded: true });
    await pass(3);
    const next = [ask(limiter), ask(limiter), ask(limiter)];
    await pass(0);
    expect(next.map(({ type }) => type())).toEqual(["slot", "slot", "waits"]);
  });
});

describe("announced rate bound", () => {
  it("applies in addition to the configured one", async () => {
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
  ] as const)("with a window of 1 s and a max_wait of %i ms ends a wait in %s", async (maxWaitMs, type) => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 }, maxWaitMs });
    limiter.tighten({ limit: 1, windowMs: 999 });
    (await take(limiter)).release();
    const second = ask(limiter);
    await pass(1_001);
    expect(second.type()).toBe(type);
  });

  it("applies to the end of its window, also for a call that arrives then", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    limiter.tighten({ limit: 1, windowMs: 500 });
    (await take(limiter)).release();
    now += 501;
    const second = ask(limiter);
    await pass(1);
    expect(second.type()).toBe("slot");
  });

  it("counts calls from its first announcement when it is lowered", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    limiter.tighten({ limit: 1_000, windowMs: 500 });
    (await take(limiter)).release();
    limiter.tighten({ limit: 1, windowMs: 500 });
    await expectWait(limiter);
  });

  it("is reported when it is first announced and when it changes", () => {
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

  it("is ignored when there are already four tighter ones", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    for (const windowMs of [100, 200, 300, 400]) limiter.tighten({ limit: 10, windowMs });
    limiter.tighten({ limit: 1_000, windowMs: 500 });
    (await take(limiter)).release();
    limiter.tighten({ limit: 1, windowMs: 500 });
    (await take(limiter)).release();
    limiter.tighten({ limit: 1, windowMs: 400 });
    await expectWait(limiter);
  });

  it("replaces the loosest of four", async () => {
    const limiter = makeLimiter({ bound: { limit: 5, windowMs: 10 } });
    for (const windowMs of [200, 100, 300, 400]) limiter.tighten({ limit: 1_000, windowMs });
    limiter.tighten({ limit: 1, windowMs: 500 });
    (await take(limiter)).release();
    await expectWait(limiter);
  });
});
