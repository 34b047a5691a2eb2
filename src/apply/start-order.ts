import { draftIdOf } from "../model/address.ts";

/** When limited runs began something last, epoch milliseconds, by address: of changes, and of drafts. */
export type Turns = ReadonlyMap<string, number>;

/**
 * What never had a turn, and then what had its turn longest ago; otherwise in the given order. So nothing can use up every limited
 * run, whatever its end: refused, in doubt, or waited for in vain.
 */
export function byTurn<T>(items: readonly T[], turns: Turns, addressOf: (item: T) => string): readonly T[] {
  if (turns.size === 0) return items;
  const at = (item: T) => turns.get(addressOf(item)) ?? 0;
  return items.toSorted((a, b) => at(a) - at(b));
}

/** The address whose turn a change uses: of its draft, or its own. */
export function turnOf(address: string): string {
  const draftId = draftIdOf(address);
  return draftId === undefined ? address : `drafts/${draftId}`;
}
