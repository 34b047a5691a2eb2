import type { Change } from "../model/change.ts";
import type { RunLimit } from "../model/run-limits.ts";

/** How far a run may go. */
export interface RunLimits {
  /** Requests in all. */
  readonly maxCalls?: number;
  /** Nothing begins from then on, epoch milliseconds. */
  readonly until?: number;
  /** The fewest calls that carrying out some changes takes. */
  readonly callsOf: (changes: readonly Change[]) => number;
}

/** What a budget is reckoned with. */
export interface RunBudgetOptions {
  /** Absent: to the end. */
  readonly limits: RunLimits | undefined;
  /** Requests dispatched so far in this run. */
  readonly spent: () => number;
  /** Wall clock, epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Decides what a run still begins: a draft whose calls do not fit any more, or that would begin after its time, is left
 * to the next run. Whatever has begun is finished, so that no draft is left half done.
 */
export class RunBudget {
  readonly #options: RunBudgetOptions;
  /** Calls that what was let in takes at the least. */
  #promised = 0;
  #reached: RunLimit | undefined;

  constructor(options: RunBudgetOptions) {
    this.#options = options;
  }

  /** Whether these changes may begin. They belong together: all of them are carried out, or none. */
  admit(changes: readonly Change[]): boolean {
    const { limits, spent, now } = this.#options;
    if (limits === undefined) return true;
    const { maxCalls = Number.POSITIVE_INFINITY, until = Number.POSITIVE_INFINITY } = limits;
    const calls = limits.callsOf(changes);
    if (now() >= until) this.#reached = "until";
    else if (Math.max(this.#promised, spent()) + calls > maxCalls) this.#reached ??= "max_calls";
    else {
      this.#promised += calls;
      return true;
    }
    return false;
  }

  /** The limit that something was left for; time before calls. */
  get reached(): RunLimit | undefined {
    return this.#reached;
  }
}
