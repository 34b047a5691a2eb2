import { onAbort } from "./on-abort.ts";

/**
 * True after `ms` milliseconds; false as soon as one of the signals is aborted. However many wait for one signal, it has
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
    const timer = setTimeout(end, ms, true);
    const leaves = signals.map((signal) => onAbort(signal, () => end(false)));
  });
}
