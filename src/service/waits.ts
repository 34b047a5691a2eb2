import { onAbort } from "../model/on-abort.ts";

/** Waiting that can be given up: by the caller's signal, or for all waiters at once. */
export class Waits {
  readonly #cancels = new Set<() => void>();
  #closed = false;

  /** True after `ms`; false when the signal is aborted, or {@link close} called, before. */
  sleep(ms: number, signal: AbortSignal): Promise<boolean> {
    if (this.#closed || signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (slept: boolean) => {
        clearTimeout(timer);
        this.#cancels.delete(cancel);
        leave();
        resolve(slept);
      };
      const cancel = () => end(false);
      const timer = setTimeout(end, ms, true);
      this.#cancels.add(cancel);
      const leave = onAbort(signal, cancel);
    });
  }

  /** Ends every wait, and those to come. */
  close(): void {
    this.#closed = true;
    for (const cancel of [...this.#cancels]) cancel();
  }
}
