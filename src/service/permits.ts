/**
 * So many things at a time, first come first served. Of the calls on their way each passes two of these, so that
 * nothing is made for one that need not wait.
 */
export class Permits {
  #free: number;
  /** In order of arrival. */
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Does `work` as soon as there is a permit, and gives that back when the work has ended. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.add(resolve));
    try {
      return await work();
    } finally {
      this.#giveBack();
    }
  }

  /** It goes straight to whoever has waited longest: nobody who comes meanwhile is first. */
  #giveBack(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next();
      return;
    }
    this.#free += 1;
  }
}
