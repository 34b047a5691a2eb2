/** The longest delay of a timer, milliseconds (24.8 days): a longer one ends at once. */
export const longestTimerMs = 2 ** 31 - 1;

/**
 * True after `ms` milliseconds, at most {@link longestTimerMs}; false as soon as one of the signals is aborted. However many wait for one signal, it has
 * one listener.
 */
export function wait(ms: number, ...signals: readonly AbortSignal[]): Promise<boolean> {
  if (signals.some(({ aborted }) => aborted)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (waited: boolean) => {
      clearTimeout(timer);
      for (const leave of leaves) leave();
      resolve(waited);
    };
    const timer = setTimeout(end, Math.min(ms, longestTimerMs), true);
    const leaves = signals.map((signal) => onAbort(signal, () => end(false)));
  });
}

/** A signal that is aborted with a `TimeoutError` after a time, unless it is cleared before. */
export interface TimeoutSignal {
  readonly signal: AbortSignal;
  readonly clear: () => void;
}

/**
 * Makes one that aborts after `ms` milliseconds, at most {@link longestTimerMs}. In place of `AbortSignal.timeout`, which nothing keeps
 * from being collected before it fires once it is combined with others.
 */
export function abortAfter(ms: number): TimeoutSignal {
  const timeUp = new AbortController();
  const abort = () => timeUp.abort(new DOMException("timed out", "TimeoutError"));
  const timer = setTimeout(abort, Math.min(ms, longestTimerMs));
  return { signal: timeUp.signal, clear: () => clearTimeout(timer) };
}

interface Listening {
  readonly waiting: Set<() => void>;
  readonly stop: () => void;
}

const listening = new WeakMap<AbortSignal, Listening>();

/**
 * Calls back when a signal is aborted, once; returns how to take that back. However many wait for one signal, as the
 * calls of a run do, it has one listener, and leaving takes no longer with many than with few. Without a signal, nothing
 * is ever called.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {};
  const known = listening.get(signal) ?? listen(signal);
  known.waiting.add(callback);
  return () => {
    known.waiting.delete(callback);
    if (known.waiting.size === 0) known.stop();
  };
}

/** A signal made of others is kept alive by its listeners, so the listener goes with the last that waits. */
function listen(signal: AbortSignal): Listening {
  const waiting = new Set<() => void>();
  const callAll = () => {
    for (const call of [...waiting]) call();
    waiting.clear();
  };
  const stop = () => {
    signal.removeEventListener("abort", callAll);
    if (listening.get(signal) === known) listening.delete(signal);
  };
  const known = { waiting, stop };
  signal.addEventListener("abort", callAll, { once: true });
  listening.set(signal, known);
  return known;
}

/** Resolves once the signal is aborted; at once when it is already. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise<void>((done) => void onAbort(signal, done));
}
