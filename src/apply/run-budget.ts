import type { RunLimit } from "../model/event.ts";
import type { CallBudget, Clock } from "../model/ports.ts";
import { longestTimerMs } from "../model/wait.ts";

/** A point in time by one of the clocks: the end of a duration by `monotonic`, which is never set, any other one by `now`. */
export interface Deadline {
  readonly at: number;
  readonly clock: keyof Clock;
}

/** How far a run may go. */
export interface RunLimits {
  /** Requests in total. */
  readonly maxCalls?: number;
  /** Requests of a later run with the same limits, if they are not the same number. */
  readonly laterCalls?: number | undefined;
  /** No operation starts from then on. */
  readonly until?: Deadline;
}

/** Milliseconds until a deadline, negative after it. */
export function msUntil({ at, clock }: Deadline, clocks: Clock): number {
  return at - clocks[clock]();
}

/** Whether there is a limit; without one a run has no budget. */
export function isLimited(limits: RunLimits | undefined): limits is RunLimits {
  return limits?.maxCalls !== undefined || limits?.until !== undefined;
}

/** What a {@link RunBudget} is made of. */
export interface RunBudgetOptions {
  readonly limits: RunLimits;
  /** Requests dispatched so far in this run. */
  readonly spent: () => number;
  readonly clock: Clock;
}

/** The budget of one operation: its first call starts within the limits of the run, and its other calls always may. */
export interface OperationBudget extends CallBudget {
  /** The first call counts from now on. False when it can no longer start. */
  reserve(): boolean;
  /**
   * What the operation did is unknown: the calls that find out have the time that they take, and the first of them counts from now
   * on. False when it can no longer start.
   */
  settles(): boolean;
}

/**
 * Decides whether an operation may still start. It is asked when the operation's first call is next in line, so a run stops
 * between any two operations, also within a draft. What follows from an operation that has started (retries, calls that
 * settle it) counts, and may exceed the limit. Calls that are no operation, such as polls, are each asked for.
 */
export class RunBudget implements CallBudget {
  readonly #options: RunBudgetOptions;
  readonly #timeUp = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #granted = 0;
  #reached: RunLimit | undefined;
  #shortfall: CallShortfall | undefined;

  constructor(options: RunBudgetOptions) {
    this.#options = options;
    const { until } = options.limits;
    if (until !== undefined) this.#watch(until);
  }

  /** Aborted when the time is up. */
  get signal(): AbortSignal {
    return this.#timeUp.signal;
  }

  get left(): number {
    const { limits, spent } = this.#options;
    return (limits.maxCalls ?? Number.POSITIVE_INFINITY) - Math.max(this.#granted, spent());
  }

  /** One call that is no operation. */
  take(): boolean {
    return this.#start(1);
  }

  /** For calls without which no operation can start: each is made only if one more is left for that. */
  get beforeOperation(): CallBudget {
    return { signal: this.signal, take: () => this.#start(2, 1) };
  }

  /** For an operation that takes that many calls at least, as known when its first call is next in line. */
  operation(minimumOf = () => 1): OperationBudget {
    let taken = 0;
    let minimum = 1;
    let isReserved = false;
    let isSettling = false;
    const timeUp = this.signal;
    const reserve = () => {
      if (isReserved) return true;
      minimum = minimumOf();
      isReserved = this.#start(minimum);
      return isReserved;
    };
    return {
      reserve,
      get signal() {
        // Its first call has started it; the others that it needs follow.
        const isUnderWay = taken > 1 && taken <= minimum;
        return isSettling || isUnderWay ? undefined : timeUp;
      },
      take: () => {
        if (!reserve()) return false;
        taken += 1;
        if (taken > minimum) this.#granted += 1;
        return true;
      },
      settles: () => {
        isSettling ||= reserve();
        return isSettling;
      },
    };
  }

  /** Whether nothing can start any more, however small. */
  get isSpent(): boolean {
    if (this.#isTimeUp()) return true;
    if (this.left > 0) return false;
    this.#reached ??= "max_calls";
    return true;
  }

  /** The limit because of which something did not start; time before calls. */
  get reached(): RunLimit | undefined {
    return this.#reached;
  }

  /** The largest operation that did not fit. */
  get shortfall(): CallShortfall | undefined {
    return this.#shortfall;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #start(minimum: number, granted = minimum): boolean {
    if (this.#isTimeUp()) return false;
    if (this.left >= minimum) {
      this.#granted += granted;
      return true;
    }
    this.#reached ??= "max_calls";
    const { maxCalls = 0, laterCalls = maxCalls } = this.#options.limits;
    if (minimum > (this.#shortfall?.needed ?? 0)) this.#shortfall = { needed: minimum, limit: laterCalls };
    return false;
  }

  #isTimeUp(): boolean {
    const { limits, clock } = this.#options;
    if (limits.until === undefined || msUntil(limits.until, clock) > 0) return false;
    this.#reached = "until";
    return true;
  }

  /** The wall clock may be set while the timer runs. */
  #watch(until: Deadline): void {
    if (this.#isTimeUp()) this.#timeUp.abort();
    else {
      const leftMs = msUntil(until, this.#options.clock);
      this.#timer = setTimeout(() => this.#watch(until), Math.min(leftMs, longestTimerMs)).unref();
    }
  }
}

/** An operation needs more calls than were left. */
export interface CallShortfall {
  readonly needed: number;
  /** What a later run has at its start. */
  readonly limit: number;
}
