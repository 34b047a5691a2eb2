import { expect } from "vitest";
import type { Verdict } from "./survive.ts";

/** `npm run test:crash` kills at every point, `npm test` at a sample of each kind. */
export const everyPoint = process.env.DRAFTSYNC_TEST_CRASH === "all";

/** Timeout of a test of all points, milliseconds. */
export const pointsTimeoutMs = 3 * 60 * 60_000;

/** At most `max` evenly spread points, with the first and the last. */
export function sample<T>(points: readonly T[], max: number): readonly T[] {
  if (everyPoint || points.length <= max) return points;
  return points.filter(
    (_point, at) => at % Math.ceil(points.length / (max - 1)) === 0 || at === points.length - 1,
  );
}

/** Kills at each point in turn. `undefined` means that the run ended before the point. */
export async function expectAll<P>(
  kind: string,
  points: readonly P[],
  kill: (point: P) => Promise<Verdict | undefined>,
): Promise<void> {
  const broken: string[] = [];
  let kills = 0;
  let inDoubt = 0;
  const report = () => {
    const counts = `${kills} kills at ${points.length} points, ${inDoubt} calls left to the operator`;
    process.stderr.write(`${kind}: ${counts}, ${broken.length} violations\n`);
  };
  for (const point of points) {
    const verdict = await kill(point);
    if (verdict === undefined) continue;
    kills += 1;
    inDoubt += verdict.inDoubt;
    if (verdict.problems.length > 0) broken.push(`${JSON.stringify(point)}: ${verdict.problems.join("; ")}`);
    if (everyPoint && kills % 250 === 0) report();
  }
  if (everyPoint) report();
  expect(broken).toEqual([]);
  // The number of commits for rate reservations depends on timing, so the last points may not be reached.
  expect(kills).toBeGreaterThanOrEqual(points.length - 4);
  expect(kills).toBeGreaterThan(0);
}
