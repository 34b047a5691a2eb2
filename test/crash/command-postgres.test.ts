import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { binary } from "./support/binary.ts";
import { type CommitPoint, killAtCommit, measure } from "./support/command-kills.ts";
import { type CrashWorld, startCrashWorld } from "./support/crash-world.ts";
import { expectAll, pointsTimeoutMs, sample } from "./support/points.ts";

let world: CrashWorld;

beforeAll(async () => {
  world = await startCrashWorld({ apply: binary.apply, databaseUrl: inject("databaseUrl") });
});
afterAll(() => world.close());

test(
  "survives a kill of the command before, during and after every commit in PostgreSQL",
  async () => {
    const { commits, operations } = await measure(world);
    expect(operations).toBe(12);
    const points = Array.from({ length: commits }, (_none, at): CommitPoint[] => [
      `before:${at + 1}`,
      `during:${at + 1}`,
      `after:${at + 1}`,
    ]).flat();
    const kill = (point: CommitPoint) => killAtCommit(world, point);
    await expectAll("command with PostgreSQL, at commits", sample(points, 3), kill);
  },
  pointsTimeoutMs,
);
