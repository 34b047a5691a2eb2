const factor = Number(process.env.DRAFTSYNC_TEST_RUNS ?? 1);

/** The number of random cases of a property: `usual` in `npm test`, more in `npm run test:long`. */
export function runs(usual: number): { readonly numRuns: number } {
  return { numRuns: usual * factor };
}
