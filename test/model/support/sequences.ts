import fc from "fast-check";
import { commands, savedPlanSequences, settleAll } from "./commands.ts";
import { System } from "./system.ts";

const { SEED, PATH_, SEQUENCES, PROGRESS } = process.env;

/** Two files run half of the sequences each, so that two workers share them. */
export interface Share {
  readonly seed: number;
  /** The number of sequences unless `SEQUENCES` has a total for all shares. */
  readonly runs: number;
}

/**
 * Random sequences against the model. A failing sequence is shrunk and printed with its seed and
 * path; `SEED=… PATH_=… REPLAY=…` runs it again.
 */
export async function checkSequences({ seed, runs }: Share): Promise<void> {
  const numRuns = runsOf(runs);
  const startedAt = performance.now();
  let ran = 0;
  const report = () => {
    ran += 1;
    if (PROGRESS === undefined || ran % Number(PROGRESS) > 0) return;
    const perSecond = (1000 * ran) / (performance.now() - startedAt);
    process.stderr.write(`${ran} of ${numRuns} sequences, ${perSecond.toFixed(1)}/s\n`);
  };
  const sequences = fc.oneof(commands, savedPlanSequences);
  const settings = fc.record({
    concurrency: fc.constantFrom(1, 1, 4),
    isLate: fc.constantFrom(false, false, true),
  });
  const property = fc.asyncProperty(sequences, settings, async (sequence, each) => {
    const system = new System(each);
    try {
      await system.open();
      await fc.asyncModelRun(() => ({ model: system, real: system }), sequence);
      await settleAll(system);
    } finally {
      await system.close();
    }
    report();
  });
  // A long run uses a new seed, to find other failures than the usual runs.
  const chosen = SEED !== undefined ? Number(SEED) : SEQUENCES === undefined ? seed : (Date.now() ^ seed) | 0;
  if (PROGRESS !== undefined) process.stderr.write(`seed ${chosen}\n`);
  await fc
    .assert(property, {
      seed: chosen,
      numRuns: PATH_ === undefined ? numRuns : 1,
      ...(PATH_ === undefined ? {} : { path: PATH_ }),
    })
    .catch((error: unknown) => {
      // The other share may run for another hour.
      if (PROGRESS !== undefined) process.stderr.write(`${error}\n`);
      throw error;
    });
}

/** Timeout of a share, milliseconds: far more than its sequences need. */
export function shareTimeoutMs({ runs }: Share): number {
  return 60_000 + 1000 * runsOf(runs);
}

function runsOf(runs: number): number {
  return SEQUENCES === undefined ? runs : Math.ceil(Number(SEQUENCES) / 2);
}
