import { allEnded } from "./operation.ts";

/** When limited runs began something last, epoch milliseconds, by address: of changes, and of drafts. */
export type Turns = ReadonlyMap<string, number>;

/**
 * What never had a turn, and then what had its turn longest ago; otherwise in the given order. So nothing can use up every limited
 * run: not what is refused each time, nor a doubt that stays, nor an upload that is still processed.
 */
export function byTurn<T>(items: readonly T[], turns: Turns, addressOf: (item: T) => string): readonly T[] {
  if (turns.size === 0) return items;
  const at = (item: T) => turns.get(addressOf(item)) ?? 0;
  return items.toSorted((a, b) => at(a) - at(b));
}

/**
 * Runs what never had a turn; then, alone, what had its turn longest ago, so that nothing quicker uses up the run before; then the
 * rest. Without turns, all at once.
 */
export async function runInTurn<T>(
  items: readonly T[],
  turns: Turns,
  { addressOf, run }: { addressOf: (item: T) => string; run: (item: T) => Promise<void> },
): Promise<void> {
  const isFresh = (item: T) => !turns.has(addressOf(item));
  const again = byTurn(
    items.filter((item) => !isFresh(item)),
    turns,
    addressOf,
  );
  for (const group of [items.filter(isFresh), again.slice(0, 1), again.slice(1)])
    await allEnded(group.map(run));
}

/** A clock that was ahead must not make what had its turn then wait until that time. */
export function pastTurns(turns: Turns, now: number): Turns {
  return new Map([...turns].filter(([, at]) => at <= now));
}
