import { formatCount } from "./quantities.ts";

/** The default size. GitHub allows 65,536 characters in a comment; the rest is for a bot that adds a line of its own. */
export const markdownChars = 65_000;

/** The smallest size that has space for the head, the foot and some changes. */
export const minMarkdownChars = 4_000;

/** The characters (UTF-16 units) available for a text, and what was left out of it. */
export class MarkdownBudget {
  #free: number;
  readonly #leftOut: string[];

  constructor(free: number, leftOut: string[] = []) {
    this.#free = free;
    this.#leftOut = leftOut;
  }

  /** What was left out, in order: `12 of the drafts`. */
  get leftOut(): readonly string[] {
    return this.#leftOut;
  }

  /** Takes `count` characters if that many are free; a negative count returns them. */
  take(count: number): boolean {
    if (count > this.#free) return false;
    this.#free -= count;
    return true;
  }

  /** Calls `fill` with a share (0 to 1) of the free characters; what it does not take stays free. */
  share<Result>(share: number, fill: (budget: MarkdownBudget) => Result): Result {
    const given = Math.max(0, Math.floor(this.#free * share));
    const budget = new MarkdownBudget(given, this.#leftOut);
    const result = fill(budget);
    this.#free -= given - budget.#free;
    return result;
  }

  /** The first lines that fit. */
  fit(lines: readonly string[]): readonly string[] {
    const at = lines.findIndex((line) => !this.take(line.length + 1));
    return at === -1 ? lines : lines.slice(0, at);
  }

  /** Notes that `count` items are left out. */
  leaveOut(count: number, what: string): void {
    if (count > 0) this.#leftOut.push(`${formatCount(count)} ${what}`);
  }
}

/** The last item of a list that leaves out `count` items. */
export function moreItems(count: number): string[] {
  return count === 0 ? [] : [`- … and ${formatCount(count)} more`];
}

/** The paragraph that lists what was left out, and the command that shows it. */
export function formatLeftOut(leftOut: readonly string[], maxChars: number, command: string): string {
  if (leftOut.length === 0) return "";
  return `**Left out** to stay within ${formatCount(maxChars)} characters: ${leftOut.join(", ")}. To see all: ${command}.`;
}
