/** The largest number of arrivals in any closed window of that length. */
export function largestWindow(arrivals: readonly number[], windowMs: number): number {
  const sorted = [...arrivals].sort((a, b) => a - b);
  let largest = 0;
  let from = 0;
  for (const [index, at] of sorted.entries()) {
    while (at - (sorted[from] ?? at) > windowMs) from += 1;
    largest = Math.max(largest, index - from + 1);
  }
  return largest;
}
