const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when a signal is aborted, once; returns how to take that back. However many wait for one signal, as the
 * calls of a run do, it has one listener, and leaving takes no longer with many than with few. Without a signal, nothing
 * is ever called.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {};
  const known = callbacks.get(signal);
  const waiting = known ?? new Set<() => void>();
  if (known === undefined) {
    callbacks.set(signal, waiting);
    const callAll = () => {
      for (const call of [...waiting]) call();
      waiting.clear();
    };
    signal.addEventListener("abort", callAll, { once: true });
  }
  waiting.add(callback);
  return () => void waiting.delete(callback);
}
