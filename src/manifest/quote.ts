/** Characters that could act on a terminal or reorder a line: controls, line separators, direction controls, BOM. */
const hidden = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]/gu;

const longest = 60;

/**
 * A user's text between double quotes, fit for one line of a message: characters that cannot be seen are escaped
 * as `\u{202e}`, and everything after the first 60 characters is cut off.
 */
export function quote(text: string): string {
  return `"${reveal(text)}"`;
}

/** Like {@link quote}, without the quotes. */
export function reveal(text: string): string {
  const points = text.length > longest ? Array.from(text.slice(0, longest * 2)) : [];
  const short = points.length > longest ? `${points.slice(0, longest).join("")}…` : text;
  return short.replace(hidden, escapePoint);
}

/** `"a"`, `"a" or "b"`, `"a", "b" or "c"`. */
export function quoteList(words: readonly string[], joint: "and" | "or"): string {
  return joinWords(words.map(quote), joint);
}

/** `a`, `a or b`, `a, b or c`. */
export function joinWords(words: readonly string[], joint: "and" | "or"): string {
  const last = words[words.length - 1] ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} ${joint} ${last}`;
}

function escapePoint(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
