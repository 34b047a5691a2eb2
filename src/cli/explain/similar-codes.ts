import { nearest } from "../../manifest/nearest.ts";

const mostOffered = 5;

/** The codes that somebody who wrote `word` may have meant, the likeliest first: misspelled, or a part of them. */
export function similarCodes(word: string, codes: readonly string[]): readonly string[] {
  const misspelled = nearest(word, codes);
  const parts = word.split("-").filter((part) => part.length > 2);
  const containing = codes.filter((code) => word.length > 2 && code.includes(word));
  const related = codes
    .map((code) => ({ code, shared: parts.filter((part) => code.split("-").includes(part)).length }))
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared)
    .map(({ code }) => code);
  const found = new Set([...(misspelled === undefined ? [] : [misspelled]), ...containing, ...related]);
  return [...found].slice(0, mostOffered);
}
