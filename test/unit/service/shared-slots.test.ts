import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SlotWorld } from "./support/slot-world.ts";

/** A known sequence for each seed (Park and Miller's generator). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

const bound = { limit: 10, windowMs: 1_000 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a bound that processes share", () => {
  test("is used whole by one process alone", async () => {
    const world = new SlotWorld({ bound, random: randomOf(1) });
    const done = world.start(20).send(100);
    await vi.runAllTimersAsync();
    await done;
    expect(world.arrivals).toHaveLength(100);
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
    // 90 % of limit / (window + trip there and back): RELIABILITY's measure, in virtual time.
    const took = Math.max(...world.arrivals) - Math.min(...world.arrivals);
    expect(100 / took).toBeGreaterThan((0.9 * bound.limit) / (bound.windowMs + 40));
  });

  test("holds over four processes, is used by them to nine tenths, and in fair parts", async () => {
    const world = new SlotWorld({ bound, random: randomOf(2) });
    const processes = [1, 2, 3, 4].map(() => world.start(20));
    const all = Promise.all(processes.map((process) => process.send(60)));
    await vi.advanceTimersByTimeAsync(12_000);
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
    expect(world.arrivals.length).toBeGreaterThan((0.9 * bound.limit * 12_000) / (bound.windowMs + 40));
    for (const { sent } of processes) expect(sent).toBeGreaterThan(18);
    await vi.runAllTimersAsync();
    await all;
    expect(world.arrivals).toHaveLength(240);
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
  });

  test("of one call goes round among more processes", async () => {
    const world = new SlotWorld({ bound: { limit: 1, windowMs: 100 }, random: randomOf(3) });
    const processes = [1, 2, 3].map(() => world.start(10));
    const all = Promise.all(processes.map((process) => process.send(3)));
    await vi.advanceTimersByTimeAsync(30_000);
    await all;
    expect(processes.map(({ sent }) => sent)).toEqual([3, 3, 3]);
    expect(world.largestWindow()).toBe(1);
  });

  test("is not filled again by fifty restarts", async () => {
    const world = new SlotWorld({ bound, random: randomOf(4), holdMs: 2_000 });
    for (let restarts = 0; restarts < 50; restarts += 1) {
      const process = world.start(15);
      void process.send(100);
      await vi.advanceTimersByTimeAsync(100 + 13 * restarts);
      process.kill();
    }
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
    expect(world.arrivals.length).toBeGreaterThan(50);
    const last = world.start(15);
    const done = last.send(20);
    await vi.advanceTimersByTimeAsync(6_000);
    await done;
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
  });

  test("counts on after a process has ended, and is free a window later", async () => {
    const world = new SlotWorld({ bound, random: randomOf(5) });
    const first = world.start(5);
    await Promise.all([first.send(10), vi.advanceTimersByTimeAsync(100)]);
    await Promise.all([first.leave(), vi.advanceTimersByTimeAsync(10)]);
    const second = world.start(5);
    const done = second.send(10);
    await vi.advanceTimersByTimeAsync(800);
    expect(second.sent).toBe(0);
    await vi.advanceTimersByTimeAsync(600);
    expect(second.sent).toBe(10);
    await done;
    await Promise.all([second.leave(), vi.advanceTimersByTimeAsync(2_000)]);
    const third = world.start(5);
    await Promise.all([third.send(1), vi.advanceTimersByTimeAsync(100)]);
    expect(world.store.table.shares).toHaveLength(1);
  });

  test("keeps the slots of what a killed process had on its way for the hold", async () => {
    const world = new SlotWorld({ bound: { limit: 2, windowMs: 100 }, holdMs: 5_000, random: () => 0.99 });
    const killed = world.start(400);
    void killed.send(2);
    await vi.advanceTimersByTimeAsync(200);
    expect(killed.sent).toBe(2);
    killed.kill();
    const next = world.start(1);
    const done = next.send(1);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(next.sent).toBe(0);
    expect(next.excluded).toEqual([{ reason: "shared_bound", ms: expect.closeTo(4_100, -3) }]);
    await vi.advanceTimersByTimeAsync(400);
    await done;
    expect(next.sent).toBe(1);
  });

  test("of a process that nobody can see is given away only after its lease", async () => {
    const world = new SlotWorld({ bound, seen: false, random: randomOf(6) });
    const killed = world.start(5);
    await Promise.all([killed.send(10), vi.advanceTimersByTimeAsync(200)]);
    killed.kill();
    const next = world.start(5);
    const done = next.send(10);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(next.sent).toBe(0);
    await vi.advanceTimersByTimeAsync(3_000);
    await done;
    expect(next.sent).toBe(10);
  });

  test("is not used by a process whose beats do not reach the store", async () => {
    const world = new SlotWorld({ bound, random: randomOf(7) });
    const process = world.start(5);
    await Promise.all([process.send(1), vi.advanceTimersByTimeAsync(100)]);
    world.store.failure = new Error("no such database");
    await vi.advanceTimersByTimeAsync(6_500);
    const done = process.send(1);
    const refused = expect(done).rejects.toThrow("no such database");
    await vi.advanceTimersByTimeAsync(100);
    await refused;
    expect(process.sent).toBe(1);
  });

  test("is not used after the machine slept, until it is renewed", async () => {
    const world = new SlotWorld({ bound, random: randomOf(11) });
    const process = world.start(5);
    await Promise.all([process.send(1), vi.advanceTimersByTimeAsync(100)]);
    expect(process.limiter.isOpen()).toBe(true);
    process.wallOffset += 60_000;
    expect(process.limiter.isOpen()).toBe(false);
    await Promise.all([process.send(1), vi.advanceTimersByTimeAsync(100)]);
    expect([process.sent, process.limiter.isOpen()]).toEqual([2, true]);
  });

  test("is given anew to a process that others took for dead, beside what it had in use", async () => {
    const world = new SlotWorld({ bound, random: randomOf(12) });
    const sleeper = world.start(5);
    await Promise.all([sleeper.send(4), vi.advanceTimersByTimeAsync(100)]);
    world.store.table = {
      shares: world.store.table.shares.map((share) => ({ ...share, wanted: 0, endedAt: performance.now() })),
    };
    const done = sleeper.send(40, 10);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(new Set(world.store.table.shares.map(({ owner }) => owner)).size).toBe(
      world.store.table.shares.length,
    );
    await vi.advanceTimersByTimeAsync(8_000);
    await done;
    expect(sleeper.sent).toBe(44);
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
  });

  test.each([3_600_000, -3_600_000])("holds when clocks jump by %i ms", async (jump) => {
    const world = new SlotWorld({ bound, random: randomOf(8) });
    const [one, two] = [world.start(), world.start()];
    const all = Promise.all([one.send(60), two.send(60)]);
    await vi.advanceTimersByTimeAsync(3_000);
    one.wallOffset += jump;
    await vi.advanceTimersByTimeAsync(3_000);
    if (jump < 0) world.store.clockOffset += jump;
    await vi.advanceTimersByTimeAsync(30_000);
    await all;
    expect(world.arrivals).toHaveLength(120);
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
  });

  test("is not asked for by a process with nothing to send", async () => {
    const world = new SlotWorld({ bound, random: randomOf(9) });
    const process = world.start(5);
    await Promise.all([process.send(3), vi.advanceTimersByTimeAsync(5_000)]);
    const { turns } = world.store;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(world.store.turns).toBe(turns);
    expect(world.store.table.shares).toEqual([]);
  });
});

describe("a pause that the service asks one process for", () => {
  test("holds back the others, and whoever starts within it, and no longer", async () => {
    const world = new SlotWorld({ bound, random: randomOf(10) });
    const [asked, other] = [world.start(5), world.start(5)];
    await Promise.all([other.send(1), asked.send(1), vi.advanceTimersByTimeAsync(100)]);
    asked.limiter.pause({ ms: 20_000, refused: true });
    await vi.advanceTimersByTimeAsync(1_500);
    asked.kill();
    const later = world.start(5);
    const done = Promise.all([other.send(1), later.send(1)]);
    await vi.advanceTimersByTimeAsync(18_000);
    expect([other.sent, later.sent]).toEqual([1, 0]);
    expect(later.excluded).toEqual([{ reason: "retry_after", ms: expect.closeTo(18_500, -2) }]);
    expect(asked.excluded).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_500);
    await done;
    expect([other.sent, later.sent]).toEqual([2, 1]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(world.store.table.pause).toBeUndefined();
  });
});

describe("the bound under random kills, restarts and delays", () => {
  test.each(Array.from({ length: 25 }, (_none, seed) => seed + 1))("seed %i", async (seed) => {
    const random = randomOf(seed * 7919);
    const pick = (most: number) => Math.floor(random() * most);
    const world = new SlotWorld({
      bound: { limit: 1 + pick(12), windowMs: 100 + pick(900) },
      latencyMs: 1 + pick(60),
      holdMs: 300,
      seen: random() < 0.7,
      random,
    });
    const processes = Array.from({ length: 1 + pick(4) }, () => world.start(pick(150)));
    for (const process of processes) void process.send(500, 1 + pick(12)).catch(() => {});
    for (let step = 0; step < 60; step += 1) {
      await vi.advanceTimersByTimeAsync(pick(600));
      const at = pick(processes.length);
      const process = processes[at];
      if (process === undefined || random() < 0.6) continue;
      if (random() < 0.5) process.kill();
      else void process.leave();
      const next = world.start(pick(150));
      processes[at] = next;
      void next.send(500, 1 + pick(12)).catch(() => {});
    }
    expect(world.arrivals.length).toBeGreaterThan(5);
    expect(world.largestWindow()).toBeLessThanOrEqual(world.bound.limit);
  });
});
