import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDraftsync } from "../support/cli.ts";
import { binary, run } from "./support/binary.ts";
import { type CrashWorld, key, startCrashWorld, survive, type Verdict } from "./support/crash-world.ts";
import { engine, startEngine } from "./support/engine.ts";
import type { BytePoint } from "./support/kill-proxy.ts";

/** `npm run test:crash` takes every point; `npm test` a sample of each kind. */
const everyPoint = process.env.DRAFTSYNC_TEST_CRASH === "all";
const minutes = 60_000;

let byBinary: CrashWorld;
let byEngine: CrashWorld;
const counts: Record<string, { points: number; inDoubt: number; problems: number }> = {};

beforeAll(async () => {
  byBinary = await startCrashWorld((life) => binary.apply(life));
  byEngine = await startCrashWorld((life) => engine.apply(life));
}, minutes);
afterAll(async () => {
  await byBinary.close();
  await byEngine.close();
  const file = process.env.DRAFTSYNC_TEST_CRASH_REPORT;
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(counts, null, 2)}\n`);
});

/** So many of them, evenly spread, the first and the last among them. */
function sample<T>(points: readonly T[], most: number): readonly T[] {
  if (everyPoint || points.length <= most) return points;
  return points.filter(
    (_point, at) => at % Math.ceil(points.length / most) === 0 || at === points.length - 1,
  );
}

function count(kind: string, { problems, inDoubt }: Verdict): void {
  counts[kind] ??= { points: 0, inDoubt: 0, problems: 0 };
  counts[kind].points += 1;
  counts[kind].inDoubt += inDoubt;
  counts[kind].problems += problems.length;
}

async function expectAll<P>(
  kind: string,
  points: readonly P[],
  kill: (point: P) => Promise<Verdict>,
): Promise<void> {
  const broken: string[] = [];
  for (const point of points) {
    const verdict = await kill(point);
    count(kind, verdict);
    if (verdict.problems.length > 0) broken.push(`${JSON.stringify(point)}: ${verdict.problems.join("; ")}`);
  }
  expect(broken).toEqual([]);
  expect(counts[kind]?.points).toBe(points.length);
}

describe("the command, killed", () => {
  async function killAtCommit(point: string): Promise<Verdict> {
    const life = await byBinary.begin(undefined, () => {});
    try {
      const { code } = await run(life, ["apply", "--auto-approve"], point);
      expect(code, point).toBe(128);
      return await survive(byBinary, life, binary);
    } finally {
      await life.close();
    }
  }

  test(
    "before and after every commit of the ledger",
    async () => {
      const life = await byBinary.begin(undefined, () => {});
      const file = join(life.folder, "commits");
      expect(await run(life, ["apply", "--auto-approve"], file)).toMatchObject({ code: 0 });
      const commits = Number(readFileSync(file, "utf8"));
      await life.close();
      expect(commits).toBeGreaterThan(24);
      // The last few are of the lock and the slots, when all has been said.
      const all = Array.from({ length: commits - 1 }, (_none, at) => [
        `before:${at + 1}`,
        `after:${at + 1}`,
      ]).flat();
      await expectAll("command, at commits", sample(all, 10), killAtCommit);
    },
    30 * minutes,
  );

  async function killAtByte(point: BytePoint): Promise<Verdict> {
    let kill = () => {};
    const life = await byBinary.begin(point, () => kill());
    try {
      const env = { DRAFTSYNC_API_KEY: key };
      const running = startDraftsync(["apply", "--auto-approve"], { cwd: life.folder, env });
      kill = () => {
        void byBinary.proxy.cut();
        running.kill("SIGKILL");
      };
      expect((await running.ended).code, JSON.stringify(point)).toBe(128);
      return await survive(byBinary, life, binary);
    } finally {
      await life.close();
    }
  }

  test(
    "at the first and the last byte of requests and answers, and between",
    async () => {
      const life = await byBinary.begin(undefined, () => {});
      await binary.apply(life);
      const { request, response } = byBinary.proxy.passed;
      await life.close();
      const step = everyPoint ? 97 : 1_009;
      const points = (["request", "response"] as const).flatMap((direction) => {
        const total = direction === "request" ? request : response;
        return Array.from({ length: Math.ceil(total / step) }, (_none, at) => ({
          direction,
          byte: at * step,
        }));
      });
      await expectAll("command, at bytes", sample(points, 12), killAtByte);
    },
    60 * minutes,
  );
});

describe("the engine, killed", () => {
  async function killAtByte(point: BytePoint): Promise<Verdict> {
    let kill = () => {};
    const life = await byEngine.begin(point, () => kill());
    try {
      const running = startEngine(life);
      kill = () => {
        void byEngine.proxy.cut();
        running.kill();
      };
      await running.ended;
      return await survive(byEngine, life, engine);
    } finally {
      await life.close();
    }
  }

  test(
    "at every byte of every request and answer",
    async () => {
      const life = await byEngine.begin(undefined, () => {});
      await engine.apply(life);
      const { request, response } = byEngine.proxy.passed;
      await life.close();
      expect(Math.min(request, response)).toBeGreaterThan(3_000);
      const points = (["request", "response"] as const).flatMap((direction) => {
        const total = direction === "request" ? request : response;
        return Array.from({ length: total }, (_none, byte) => ({ direction, byte }));
      });
      await expectAll("engine, at bytes", sample(points, 80), killAtByte);
    },
    120 * minutes,
  );
});
