import { formatCount } from "./quantities.ts";

/** Characters (UTF-16 units) that there are for a text, and what had to be left out of it. */
export class Room {
  #free: number;
  readonly #leftOut: string[];

  constructor(free: number, leftOut: string[] = []) {
    this.#free = free;
    this.#leftOut = leftOut;
  }

  /** What was left out, in the order in which it was: `12 drafts`. */
  get leftOut(): readonly string[] {
    return this.#leftOut;
  }

  /** Takes `count` characters, or none when there are fewer; a negative count gives back. */
  take(count: number): boolean {
    if (count > this.#free) return false;
    this.#free -= count;
    return true;
  }

  /** Fills at most this part (0 to 1) of what is free; what is not taken of it stays free. */
  within<Result>(part: number, fill: (room: Room) => Result): Result {
    const given = Math.max(0, Math.floor(this.#free * part));
    const room = new Room(given, this.#leftOut);
    const result = fill(room);
    this.#free -= given - room.#free;
    return result;
  }

  /** The lines, from the first, that there is room for. */
  fit(lines: readonly string[]): readonly string[] {
    const at = lines.findIndex((line) => !this.take(line.length + 1));
    return at === -1 ? lines : lines.slice(0, at);
  }

  /** Notes that `count` of something do not stand in the text. */
  leaveOut(count: number, what: string): void {
    if (count > 0) this.#leftOut.push(`${formatCount(count)} ${what}`);
  }
}

/** The last item of a list of which `count` items are not shown. */
export function moreItems(count: number): string[] {
  return count === 0 ? [] : [`- … and ${formatCount(count)} more`];
}
