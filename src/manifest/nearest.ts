/**
 * The candidate that is most like a word, or `undefined` when none is near: at most one of `lettersPerTypo` letters
 * (and always one) inserted, left out, changed or swapped with a neighbour. Case and Unicode form do not count.
 */
export function nearest(word: string, candidates: readonly string[], lettersPerTypo = 3): string | undefined {
  const plain = fold(word);
  if (plain.length > 60) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(plain.length / lettersPerTypo)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(plain, fold(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function fold(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[-\s\ufeff]/g, "_");
}

/** Optimal string alignment: Levenshtein's distance with neighbouring letters swapped as one step. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const changed = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let least = Math.min(changed, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        least = Math.min(least, (before[column - 2] ?? 0) + 1);
      }
      current.push(least);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
