import type { EventEmitter } from "node:events";
import type { Interrupts } from "../model/ports.ts";
import { exitCode } from "./exit-code.ts";

/** How long calls on their way are awaited after the first interrupt, milliseconds. */
const drainMs = 5_000;

/** When the process ends at the latest, after the first interrupt and after the second. */
const longestAfterFirstMs = 6_500;
const longestAfterSecondMs = 2_000;

/** What {@link listenForInterrupts} works with; the process, outside tests. */
export interface InterruptParts {
  readonly signals: Pick<EventEmitter, "on" | "off">;
  readonly say: (text: string) => void;
  readonly exit: (code: number) => void;
}

/** Interrupts of a process that is one command. */
export interface ProcessInterrupts extends Interrupts {
  /** SIGHUP interrupts no more: for a command that has a meaning of its own for it. */
  spareHangup(): void;
}

/** Of something that nobody interrupts. */
export function noInterrupts(): ProcessInterrupts {
  const { signal } = new AbortController();
  return { drain: signal, cutOff: signal, spareHangup: () => {} };
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
 */
export function listenForInterrupts({
  signals,
  say,
  exit,
}: InterruptParts): ProcessInterrupts & { stop(): void } {
  const drain = new AbortController();
  const cutOff = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  const after = (ms: number, work: () => void) => void timers.push(setTimeout(work, ms));
  const end = () => exit(exitCode.interrupted);
  const onFirst = () => {
    drain.abort();
    say("\nInterrupted: ending what is on its way, for 5 s at most. Interrupt again to cut it off.\n");
    after(drainMs, () => {
      if (cutOff.signal.aborted) return;
      say("\nCutting off what has not ended within 5 s.\n");
      cutOff.abort();
    });
    after(longestAfterFirstMs, end);
  };
  const onSecond = () => {
    say("\nInterrupted again: cutting off what is on its way.\n");
    cutOff.abort();
    after(longestAfterSecondMs, end);
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
    cutOff: cutOff.signal,
    spareHangup: () => void signals.off("SIGHUP", onHangup),
    stop: () => {
      for (const timer of timers) clearTimeout(timer);
      signals.off("SIGHUP", onHangup);
      signals.off("SIGINT", onSignal);
      signals.off("SIGTERM", onSignal);
    },
  };
}
