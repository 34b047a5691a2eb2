import type { EventEmitter } from "node:events";
import type { Interrupts } from "../../model/ports.ts";
import { exitCode } from "./exit-code.ts";

/** How long calls in flight are awaited after the first interrupt, milliseconds. */
const drainMs = 5_000;

/** When the process ends at the latest, after the first interrupt and after the second: P14 of docs/operations/reliability.md. */
const maxAfterFirstMs = 6_500;
const maxAfterSecondMs = 2_000;

/** Input of {@link listenForInterrupts}; tests replace the process. */
export interface InterruptParts {
  readonly signals: Pick<EventEmitter, "on" | "off">;
  readonly say: (text: string) => void;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** Ends the process after its command has ended. */
  readonly leave: () => void;
}

/** Interrupts of a process that is one command. */
export interface ProcessInterrupts extends Interrupts {
  /** Extends the time within which the process ends, milliseconds: for a command that waits for child processes. */
  allowMore(ms: number): void;
  /** SIGHUP is no interrupt any more: for a command that handles it. */
  spareHangup(): void;
}

/** Interrupts that never come. */
export function noInterrupts(): ProcessInterrupts {
  const { signal } = new AbortController();
  return { drain: signal, abortInFlight: signal, spareHangup: () => {}, allowMore: () => {} };
}

/**
 * Turns SIGINT, SIGTERM and SIGHUP into {@link Interrupts}. A terminal that is closed sends SIGHUP twice, itself and by its
 * shell: it counts as the first interrupt or not at all.
 *
 * ```
 *   first ──► drain ── 5 s, or the second ──► cut off ── what was sent is recorded as unknown ──► the command ends
 *     │                                          │
 *     └── 6.5 s ──► the process ends ◄── 2 s ────┘ (or the third)
 * ```
 *
 * A process that ends while its ledger or disk hangs loses nothing: the ledger has the intent of every call that was sent, and
 * without an outcome the call is in doubt. After the command has ended, a slow reader of the output or a hanging file may
 * still keep the process: the deadlines stay, and one more interrupt ends it at once.
 */
export function listenForInterrupts({
  signals,
  say,
  exit,
  leave,
}: InterruptParts): ProcessInterrupts & { commandEnded(): void } {
  const drain = new AbortController();
  const abortInFlight = new AbortController();
  let exitTimeoutMs: NodeJS.Timeout | undefined;
  const deadlines: NodeJS.Timeout[] = [];
  let hasEnded = false;
  const end = () => (hasEnded ? leave() : exit(exitCode.interrupted));
  let extraMs = 0;
  const endWithin = (ms: number) => void deadlines.push(setTimeout(end, ms + extraMs));
  const onFirst = () => {
    drain.abort();
    say("\nWaiting up to 5 s for requests in flight. Press Ctrl-C again to abort them.\n");
    exitTimeoutMs = setTimeout(() => {
      say("\nRequests in flight did not complete within 5 s: aborting them.\n");
      abortInFlight.abort();
    }, drainMs);
    endWithin(maxAfterFirstMs);
  };
  const onSecond = () => {
    clearTimeout(exitTimeoutMs);
    say("\nAborting requests in flight.\n");
    abortInFlight.abort();
    endWithin(maxAfterSecondMs);
  };
  const reactions = [onFirst, onSecond];
  const onSignal = () => (reactions.shift() ?? end)();
  const onHangup = () => {
    if (!drain.signal.aborted) onSignal();
  };
  signals.on("SIGHUP", onHangup);
  signals.on("SIGINT", onSignal);
  signals.on("SIGTERM", onSignal);
  return {
    drain: drain.signal,
    abortInFlight: abortInFlight.signal,
    allowMore: (ms) => {
      extraMs = ms;
    },
    spareHangup: () => void signals.off("SIGHUP", onHangup),
    commandEnded: () => {
      hasEnded = true;
      clearTimeout(exitTimeoutMs);
      reactions.length = 0;
      for (const deadline of deadlines) deadline.unref();
    },
  };
}
