import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { binary } from "./support/binary.ts";
import { type CommitPoint, killAtByte, killAtCommit, measure } from "./support/command-kills.ts";
import { type CrashWorld, startCrashWorld } from "./support/crash-world.ts";
import type { BytePoint } from "./support/kill-proxy.ts";
import { expectAll, longest, sample } from "./support/points.ts";

let world: CrashWorld;
let whole: Awaited<ReturnType<typeof measure>>;

beforeAll(async () => {
  world = await startCrashWorld({ apply: binary.apply });
  whole = await measure(world);
});
afterAll(() => world.close());

describe("the command, killed", () => {
  test("has twelve operations to carry out, each with a commit before and after it", () => {
    expect(whole.operations).toBe(12);
    expect(whole.commits).toBeGreaterThan(24);
  });

  test(
    "before and after every commit of the ledger",
    async () => {
      const points = Array.from({ length: whole.commits }, (_none, at): CommitPoint[] => [
        `before:${at + 1}`,
        `after:${at + 1}`,
      ]).flat();
      await expectAll("command, at commits", sample(points, 3), (point) => killAtCommit(world, point));
    },
    longest,
  );

  test(
    "before the first byte of every piece of a request or answer, within it, and before its last one",
    async () => {
      const points = whole.pieces.flatMap(({ direction, byte, length }): BytePoint[] => {
        const bytes = new Set([byte, byte + (length >> 1), byte + length - 1]);
        return [...bytes].map((each) => ({ direction, byte: each }));
      });
      await expectAll("command, at bytes", sample(points, 3), (point) => killAtByte(world, point));
    },
    longest,
  );
});
