import { setImmediate } from "node:timers/promises";

/**
 * Calls `visit` with each item. After every `size` items the event loop runs, so that a signal or a progress line does
 * not wait for the rest. Rejects with the signal's reason when it is aborted.
 */
export async function forEachYielding<T>(
  items: Iterable<T>,
  { size, signal }: { readonly size: number; readonly signal: AbortSignal | undefined },
  visit: (item: T) => void,
): Promise<void> {
  let count = 0;
  for (const item of items) {
    count += 1;
    if (count % size === 0) await setImmediate();
    signal?.throwIfAborted();
    visit(item);
  }
}
