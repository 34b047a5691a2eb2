/** Numbers in [0, 1), the same sequence for each seed; see random.mjs. */
export function makeRandom(seed: number): () => number;
