import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { makeRandom } from "../../support/random.mjs";
import { RateWorld } from "./support/rate-world.ts";

const bound = { limit: 10, windowMs: 1_000 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => void vi.useRealTimers());

describe("shared rate bound", () => {
  test("is used to 95 % by one process", async () => {
    const world = await RateWorld.open({ bound, random: makeRandom(1) });
    world.start(20).send(100);
    await world.pass(11_000);
    expect(world.arrivals).toHaveLength(100);
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
    const took = Math.max(...world.arrivals) - Math.min(...world.arrivals);
    // The first ten are sent immediately.
    expect(90 / took).toBeGreaterThan((0.95 * bound.limit) / (bound.windowMs + 30));
  });

  test("is used to 95 % by four processes, each with a share", async () => {
    const world = await RateWorld.open({ bound, random: makeRandom(2) });
    const processes = [1, 2, 3, 4].map(() => world.start(20));
    for (const process of processes) process.send(1_000);
    await world.pass(20_000);
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
    expect(world.arrivals.length).toBeGreaterThan((0.95 * bound.limit * 20_000) / (bound.windowMs + 30));
    for (const { sent } of processes) expect(sent).toBeGreaterThan(15);
  });

  test("holds across fifty restarts", async () => {
    const world = await RateWorld.open({ bound, random: makeRandom(4), settleMs: 2_000 });
    for (let restarts = 0; restarts < 50; restarts += 1) {
      const process = world.start(15);
      process.send(100);
      await world.pass(100 + 13 * restarts);
      process.kill();
    }
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
    expect(world.arrivals.length).toBeGreaterThan(50);
    const last = world.start(15);
    last.send(20);
    await world.pass(6_000);
    expect(last.sent).toBe(20);
    expect(world.largestWindow()).toBeLessThanOrEqual(bound.limit);
  });

  test("is free one window after the last process ended normally", async () => {
    const world = await RateWorld.open({ bound, random: makeRandom(5) });
    const first = world.start(5);
    first.send(10);
    await world.pass(100);
    await first.close();
    const second = world.start(5);
    second.send(10);
    await world.pass(800);
    expect(second.sent).toBe(0);
    await world.pass(200);
    expect(second.sent).toBe(10);
  });

  test("counts the calls of a killed process until they can no longer arrive, and reports the delay", async () => {
    const world = await RateWorld.open({
      bound: { limit: 2, windowMs: 100 },
      settleMs: 5_000,
      random: () => 0.99,
    });
    const killed = world.start(400);
    killed.send(2);
    await world.pass(200);
    killed.kill();
    const next = world.start(1);
    next.send(1);
    await world.pass(5_000);
    expect([killed.sent, next.sent]).toEqual([2, 0]);
    expect(next.delays).toEqual([{ reason: "shared_bound", ms: expect.closeTo(5_100, -2) }]);
    await world.pass(200);
    expect(next.sent).toBe(1);
  });

  test("is polled while all its calls are in flight in another process", async () => {
    const world = await RateWorld.open({
      bound: { limit: 1, windowMs: 100 },
      settleMs: 5_000,
      random: () => 0.99,
    });
    world.start(2_000).send(1);
    await world.pass(10);
    const next = world.start(1);
    next.send(1);
    await world.pass(3_990);
    expect(next.sent).toBe(0);
    await world.pass(300);
    expect(next.sent).toBe(1);
  });

  test("reserves a call again that starts later than lost calls may arrive", async () => {
    const world = await RateWorld.open({ bound, settleMs: 2_000, random: makeRandom(5) });
    const process = world.start(5);
    process.stall = { monotonic: 3_000, wall: 3_000 };
    process.send(1);
    await world.pass(4_000);
    expect([process.late, process.sent]).toEqual([1, 1]);
  });

  test("ends waiting calls when its table fails, and stores ended calls later", async () => {
    const world = await RateWorld.open({ bound, random: makeRandom(7) });
    const process = world.start(5);
    process.send(1);
    await world.pass(2);
    world.failure = new Error("no such database");
    await world.pass(100);
    process.send(3);
    await world.pass(100);
    expect(process.failures).toEqual(Array.from({ length: 3 }, () => world.failure));
    world.failure = undefined;
    process.send(10);
    await world.pass(500);
    expect(process.sent).toBe(10);
    await world.pass(1_000);
    expect(process.sent).toBe(11);
  });

  test.each([
    ["the process was suspended", { monotonic: 6_000, wall: 6_000 }],
    ["the machine slept", { monotonic: 0, wall: 6_000 }],
  ])("reserves a call again when %s before its first byte", async (_name, jump) => {
    const world = await RateWorld.open({ bound, random: makeRandom(11) });
    const process = world.start(5);
    process.stall = jump;
    process.send(1);
    await world.pass(100);
    expect([process.late, process.sent]).toEqual([1, 1]);
  });

  test("pauses every process, also one that starts later, when the service asks one for a pause", async () => {
    const world = await RateWorld.open({ bound, random: makeRandom(10) });
    const [asked, other] = [world.start(5), world.start(5)];
    asked.send(1);
    other.send(1);
    await world.pass(100);
    asked.limiter.pause({ ms: 20_000, refused: true });
    await world.pass(500);
    asked.kill();
    const later = world.start(5);
    other.send(1);
    later.send(1);
    await world.pass(19_000);
    expect([other.sent, later.sent]).toEqual([1, 0]);
    expect(later.delays).toEqual([{ reason: "retry_after", ms: expect.closeTo(19_500, -2) }]);
    expect(asked.delays).toEqual([]);
    await world.pass(1_000);
    expect([other.sent, later.sent]).toEqual([2, 1]);
  });

  test.each(Array.from({ length: 10 }, (_none, seed) => seed + 1))(
    "holds under random kills, restarts, stalls and delays: seed %i",
    async (seed) => {
      const random = makeRandom(seed * 7919);
      const pick = (max: number) => Math.floor(random() * max);
      const world = await RateWorld.open({
        bound: { limit: 1 + pick(12), windowMs: 100 + pick(900) },
        settleMs: 300,
        canJudge: random() < 0.7,
        random,
      });
      const start = () => {
        const process = world.start(pick(150));
        process.send(500, 1 + pick(12));
        return process;
      };
      const processes = Array.from({ length: 1 + pick(4) }, start);
      for (let step = 0; step < 40; step += 1) {
        await world.pass(pick(600));
        const at = pick(processes.length);
        const process = processes[at];
        if (process === undefined || random() < 0.5) continue;
        if (random() < 0.2) process.stall = { monotonic: 0, wall: 10_000 };
        else if (random() < 0.5) process.kill();
        else await process.close();
        processes[at] = start();
      }
      expect(world.arrivals.length).toBeGreaterThan(5);
      expect(world.largestWindow()).toBeLessThanOrEqual(world.bound.limit);
    },
  );
});
