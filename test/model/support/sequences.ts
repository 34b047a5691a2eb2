import fc from "fast-check";
import { commands, settleAll } from "./commands.ts";
import { System } from "./system.ts";

const { SEED, PATH_, SEQUENCES, PROGRESS } = process.env;

/** Two files run half of the sequences each, so that two workers share them. */
export interface Share {
  readonly seed: number;
  /** How many when the environment (`SEQUENCES`, of all shares together) does not say. */
  readonly runs: number;
}

/**
 * Random sequences against the model. A sequence that fails is made as short as possible and printed with its seed and
 * path; `SEED=… PATH_=… REPLAY=…` runs that one again.
 */
export async function checkSequences({ seed, runs }: Share): Promise<void> {
  const numRuns = runsOf(runs);
  const startedAt = performance.now();
  let ran = 0;
  const tell = () => {
    ran += 1;
    if (PROGRESS === undefined || ran % Number(PROGRESS) > 0) return;
    const perSecond = (1000 * ran) / (performance.now() - startedAt);
    process.stderr.write(`${ran} of ${numRuns} sequences, ${perSecond.toFixed(1)}/s\n`);
  };
  const property = fc.asyncProperty(commands, fc.constantFrom(1, 1, 4), async (sequence, concurrency) => {
    const system = new System(concurrency);
    try {
      await system.open();
      await fc.asyncModelRun(() => ({ model: system, real: system }), sequence);
      await settleAll(system);
    } finally {
      await system.close();
    }
    tell();
  });
  // A long run is to find what the usual ones have not found.
  const chosen = SEED !== undefined ? Number(SEED) : SEQUENCES === undefined ? seed : (Date.now() ^ seed) | 0;
  if (PROGRESS !== undefined) process.stderr.write(`seed ${chosen}\n`);
  await fc
    .assert(property, {
      seed: chosen,
      numRuns: PATH_ === undefined ? numRuns : 1,
      ...(PATH_ === undefined ? {} : { path: PATH_ }),
    })
    .catch((error: unknown) => {
      // The other share may go on for an hour.
      if (PROGRESS !== undefined) process.stderr.write(`${error}\n`);
      throw error;
    });
}

/** Milliseconds after which a share hangs: far more than its sequences take. */
export function longest({ runs }: Share): number {
  return 60_000 + 1000 * runsOf(runs);
}

function runsOf(runs: number): number {
  return SEQUENCES === undefined ? runs : Math.ceil(Number(SEQUENCES) / 2);
}
