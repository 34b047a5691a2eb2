import type { EventEmitter } from "node:events";
import type { Interrupts } from "../../model/ports.ts";
import { exitCode } from "./exit-code.ts";

/** How long calls in flight are awaited after the first interrupt, milliseconds. */
const drainMs = 5_000;

/** When the process ends at the latest, after the first interrupt and after the second (RELIABILITY P14). */
const maxAfterFirstMs = 6_500;
const maxAfterSecondMs = 2_000;

/** What {@link listenForInterrupts} works with; the process, outside tests. */
export interface InterruptParts {
  readonly signals: Pick<EventEmitter, "on" | "off">;
  readonly say: (text: string) => void;
  /** Ends the process, whatever hangs. */
  readonly exit: (code: number) => void;
  /** Ends the process, whose command has ended, and which something still keeps. */
  readonly leave: () => void;
}

/** Interrupts of a process that is one command. */
export interface ProcessInterrupts extends Interrupts {
  /** The process may take so much longer to end, milliseconds: for a command that waits for processes of its own. */
  allowMore(ms: number): void;
  /** SIGHUP interrupts no more: for a command that has a meaning of its own for it. */
  spareHangup(): void;
}

/** Of something that nobody interrupts. */
export function noInterrupts(): ProcessInterrupts {
  const { signal } = new AbortController();
  return { drain: signal, abortInFlight: signal, spareHangup: () => {}, allowMore: () => {} };
}

/**
 * Turns SIGINT, SIGTERM and SIGHUP into {@link Interrupts}. A terminal that is closed sends SIGHUP twice, once itself and
 * once by its shell, and nobody is there any more to be impatient: it counts as the first interrupt or not at all.
 *
 * ```
 *   first ──► drain ── 5 s, or the second ──► cut off ── what was sent is recorded as unknown ──► the command ends
 *     │                                          │
 *     └── 6.5 s ──► the process ends ◄── 2 s ────┘ (or the third)
 * ```
 *
 * A process that is ended so, because its ledger or disk hangs, loses nothing either: the intent of every call that was
 * sent is in the ledger, and without an outcome it is in doubt.
 *
 * A process whose command has ended may still be kept, by the reader of its output who takes nothing more or by a file that
 * can never be read. The time within which it ends goes on, and one more interrupt ends it at once.
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
