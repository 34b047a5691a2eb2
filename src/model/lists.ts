/** Adds a value to the list that a map has for a key. */
export function append<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** Takes an id of an answer for `name`; the result says what has it already, if that is something else. */
export function makeClaim<Id>(name: string, holders: Map<Id, string>): (id: Id) => string | undefined {
  return (id) => {
    const holder = holders.get(id) ?? name;
    holders.set(id, holder);
    return holder === name ? undefined : holder;
  };
}

/** A list with at least one entry, by type. */
export type NonEmpty<T> = readonly [T, ...T[]];

/** The list as one that is known to have an entry; `undefined` when it is empty. */
export function nonEmpty<T>(list: readonly T[]): NonEmpty<T> | undefined {
  const [first, ...rest] = list;
  return first === undefined ? undefined : [first, ...rest];
}
