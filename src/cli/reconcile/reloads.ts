import { wait } from "../../model/wait.ts";

/** The longest wait that a timer takes, milliseconds. */
const maxTimerMs = 2 ** 31 - 1;

/** SIGHUP, as long as the process stays. */
export interface Reloads {
  /** Whether one came since this was last asked. */
  take(): boolean;
  /** Waits so long, or until one comes or the signal is aborted, whichever is first. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  stop(): void;
}

/** Listens for SIGHUP, which would end the process otherwise. */
export function listenForReloads(): Reloads {
  let came = false;
  let wake: () => void = () => {};
  const onSignal = () => {
    came = true;
    wake();
  };
  process.on("SIGHUP", onSignal);
  return {
    take: () => {
      const taken = came;
      came = false;
      return taken;
    },
    wait: async (ms, signal) => {
      if (came) return;
      const woken = new AbortController();
      wake = () => woken.abort();
      await wait(Math.min(ms, maxTimerMs), signal, woken.signal);
    },
    stop: () => void process.off("SIGHUP", onSignal),
  };
}
