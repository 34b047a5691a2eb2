import { expect } from "vitest";
import { type CrashWorld, startCrashWorld } from "./crash-world.ts";
import { engine, startEngine } from "./engine.ts";
import type { BytePoint } from "./kill-proxy.ts";
import { expectAll, sample } from "./points.ts";
import { survive, type Verdict } from "./survive.ts";

/** Kills the engine before each byte of one direction. Each direction has a test file, for two workers. */
export async function killAtEveryByte(direction: BytePoint["direction"]): Promise<void> {
  const world = await startCrashWorld({ apply: engine.apply });
  try {
    const life = await world.begin();
    await engine.apply(life);
    const total = world.proxy.passed[direction];
    await life.close();
    expect(total).toBeGreaterThan(3_000);
    const points = Array.from({ length: total }, (_none, byte) => ({ direction, byte }));
    await expectAll(`engine, at bytes of a ${direction}`, sample(points, 12), (point) => kill(world, point));
  } finally {
    await world.close();
  }
}

async function kill(world: CrashWorld, point: BytePoint): Promise<Verdict> {
  let stop = () => {};
  const life = await world.begin(point, () => stop());
  try {
    const running = startEngine(life);
    stop = () => {
      void world.proxy.cut();
      running.kill();
    };
    await running.ended;
    return await survive(world, life, engine);
  } finally {
    await life.close();
  }
}
