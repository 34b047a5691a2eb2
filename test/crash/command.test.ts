import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { binary } from "./support/binary.ts";
import { type CommitPoint, killAtByte, killAtCommit, measure } from "./support/command-kills.ts";
import { type CrashWorld, startCrashWorld } from "./support/crash-world.ts";
import type { BytePoint } from "./support/kill-proxy.ts";
import { expectAll, pointsTimeoutMs, sample } from "./support/points.ts";

let world: CrashWorld;
let whole: Awaited<ReturnType<typeof measure>>;

beforeAll(async () => {
  world = await startCrashWorld({ apply: binary.apply });
  whole = await measure(world);
});
afterAll(() => world.close());

describe("command killed during apply", () => {
  test("runs twelve operations, with a commit before and after each", () => {
    expect(whole.operations).toBe(12);
    expect(whole.commits).toBeGreaterThan(24);
  });

  test(
    "survives a kill before and after every commit of the ledger",
    async () => {
      const points = Array.from({ length: whole.commits }, (_none, at): CommitPoint[] => [
        `before:${at + 1}`,
        `after:${at + 1}`,
      ]).flat();
      await expectAll("command, at commits", sample(points, 3), (point) => killAtCommit(world, point));
    },
    pointsTimeoutMs,
  );

  test(
    "survives a kill at the start, in the middle and at the end of every chunk on the wire",
    async () => {
      const points = whole.chunks.flatMap(({ direction, byte, length }): BytePoint[] => {
        const bytes = new Set([byte, byte + (length >> 1), byte + length - 1]);
        return [...bytes].map((each) => ({ direction, byte: each }));
      });
      await expectAll("command, at bytes", sample(points, 3), (point) => killAtByte(world, point));
    },
    pointsTimeoutMs,
  );
});
