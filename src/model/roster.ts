/** The place of one in a {@link Roster}. */
export interface Membership {
  /** Gives the place up; a second time does nothing. */
  leave(): void;
}

/**
 * Those who are under way at a moment, in no order, where thousands come and go each second. A `Set` is the wrong home for
 * them: it makes itself a new table again and again, and V8 lets each table hold on to its successor, so that one that has
 * grown old as garbage keeps alive all who have left since.
 */
export class Roster<T> {
  readonly #places: Place<T>[] = [];

  add(member: T): Membership {
    return new Place(this.#places, member);
  }

  /** All who are there now; who comes or leaves afterwards does not change the list. */
  members(): T[] {
    return this.#places.map(({ member }) => member);
  }
}

class Place<T> implements Membership {
  readonly member: T;
  readonly #places: Place<T>[];
  /** Where this stands in the list; -1 when it was given up. */
  #at: number;

  constructor(places: Place<T>[], member: T) {
    this.member = member;
    this.#places = places;
    this.#at = places.push(this) - 1;
  }

  leave(): void {
    const at = this.#at;
    this.#at = -1;
    const last = at < 0 ? undefined : this.#places.pop();
    if (last === undefined || last === this) return;
    // The last one moves up.
    last.#at = at;
    this.#places[at] = last;
  }
}
