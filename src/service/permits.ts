/**
 * So many things at a time, first come first served. Of the calls on their way each passes two of these, so that
 * nothing is made for one that need not wait.
 */
export class Permits {
  #free: number;
  /** Those who wait, in order of arrival: the first of `#next`, which is turned around, then those of `#later`. */
  #next: (() => void)[] = [];
  #later: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes a permit, at once when there is one: then nothing is returned. Whoever has one calls {@link giveBack}, once. */
  take(): Promise<void> | undefined {
    if (this.#free === 0) return new Promise((resolve) => this.#later.push(resolve));
    this.#free -= 1;
    return undefined;
  }

  /** The permit goes straight to whoever has waited longest: nobody who comes meanwhile is first. */
  giveBack(): void {
    if (this.#next.length === 0 && this.#later.length > 0) {
      this.#next = this.#later.reverse();
      this.#later = [];
    }
    const longest = this.#next.pop();
    if (longest === undefined) this.#free += 1;
    else longest();
  }
}
