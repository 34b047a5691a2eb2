import { expect } from "vitest";
import type { Verdict } from "./survive.ts";

/** `npm run test:crash` takes every point; `npm test` a sample of each kind. */
export const everyPoint = process.env.DRAFTSYNC_TEST_CRASH === "all";

/** Milliseconds that a test of all points may take. */
export const longest = 3 * 60 * 60_000;

/** So many of them, evenly spread, the first and the last among them. */
export function sample<T>(points: readonly T[], most: number): readonly T[] {
  if (everyPoint || points.length <= most) return points;
  return points.filter(
    (_point, at) => at % Math.ceil(points.length / (most - 1)) === 0 || at === points.length - 1,
  );
}

/** Kills at each point, one after the other. `undefined`: the run had ended before it came to the point. */
export async function expectAll<P>(
  kind: string,
  points: readonly P[],
  kill: (point: P) => Promise<Verdict | undefined>,
): Promise<void> {
  const broken: string[] = [];
  let kills = 0;
  let inDoubt = 0;
  const tell = () => {
    const counts = `${kills} kills at ${points.length} points, ${inDoubt} calls left to a person`;
    process.stderr.write(`${kind}: ${counts}, ${broken.length} violations\n`);
  };
  for (const point of points) {
    const verdict = await kill(point);
    if (verdict === undefined) continue;
    kills += 1;
    inDoubt += verdict.inDoubt;
    if (verdict.problems.length > 0) broken.push(`${JSON.stringify(point)}: ${verdict.problems.join("; ")}`);
    if (everyPoint && kills % 250 === 0) tell();
  }
  if (everyPoint) tell();
  expect(broken).toEqual([]);
  // How many commits the rate reservations take depends on the time that passes, and so does whether the last points are reached.
  expect(kills).toBeGreaterThanOrEqual(points.length - 4);
  expect(kills).toBeGreaterThan(0);
}
