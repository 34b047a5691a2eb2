import { wholeAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import type { EventSink, RunLimit, RunTotals } from "../model/event.ts";
import type { CallFailure } from "../model/outcome.ts";
import type { Clock } from "../model/ports.ts";
import { type ChangeEnd, isHeld } from "./context.ts";
import type { RunBudget } from "./run-budget.ts";

/** Tracks every change of a run from start to end: emits the events and counts the outcomes. */
export interface ChangeTracker {
  start(change: Change): void;
  /**
   * Reports the end of a change that was started. Only the first end counts. A call that was not sent because of the run is
   * not a failure: its change is deferred at a limit, and otherwise skipped because of `stoppedAt` or the run's stop.
   */
  end(change: Change, end: ChangeEnd, stoppedAt?: string): void;
  /** A change that will not be started, and the address (or the reason) it would have waited for. */
  skip(change: Change, because: string): void;
  /** A change that the next run makes, because this one has reached its limit. */
  defer(change: Change): void;
  /** A change that is in doubt since an earlier run. */
  block(change: Change): void;
  hasEnded(change: Change): boolean;
  /** A file that was attached, by a change that has not ended yet. */
  attached(): void;
  /** A change that is deferred, although something was sent for it. */
  tried(change: Change): void;
  /** The addresses of what was begun, and of its drafts; see {@link byTurn}. */
  turns(): readonly string[];
  /** `interrupted` or the code of the failure that stopped the run; `undefined` while it continues. */
  stoppedBy(): string | undefined;
  totals(): Omit<RunTotals, "calls">;
  /** Whether anything was done, or a file attached. */
  hasChanged(): boolean;
  /** How many of the failed changes were excluded for safety, and not sent. */
  refused(): number;
  /** How many of the skipped and deferred changes were to settle a doubt. */
  unsettled(): number;
}

interface TrackerOptions {
  readonly clock: Clock;
  readonly emit: EventSink;
  /** Why no further call may start, if so. */
  readonly stopped: () => "interrupted" | CallFailure | undefined;
  readonly budget: RunBudget | undefined;
  /** Called with every failure that stops the whole run. */
  readonly onRunFailure: (failure: CallFailure) => void;
}

/** Follows the changes of one run. */
export function makeTracker({ clock, emit, stopped, budget, onRunFailure }: TrackerOptions): ChangeTracker {
  const started = new Map<Change, number>();
  const ended = new Set<Change>();
  const totals = { done: 0, failed: 0, in_doubt: 0, skipped: 0, deferred: 0 };

  const tried = new Set<string>();
  const addTried = ({ address }: Change) => void tried.add(address).add(wholeAddress(address));
  let hasAttached = false;
  let refused = 0;
  let unsettled = 0;

  const stoppedBy = () => {
    const reason = stopped();
    return typeof reason === "object" ? reason.code : reason;
  };
  /** Without a limit that was reached, a failing ledger has stopped the run, and is thrown when the run ends. */
  const defer = (change: Change) => {
    const because = budget?.reached;
    if (because === undefined) finish(change, { outcome: "skipped", because: "stopped" });
    else finish(change, { outcome: "deferred", because });
  };
  const finish = (change: Change, end: ChangeEnd | Deferred) => {
    if (ended.has(change)) return;
    ended.add(change);
    if (end.outcome !== "skipped" && end.outcome !== "deferred") addTried(change);
    else if (change.action === "in_doubt") unsettled += 1;
    totals[columns[end.outcome]] += 1;
    if ("failure" in end && end.failure.code === "maybe-published") refused += 1;
    const at = clock.now();
    const { address, action } = change;
    const endedAt = clock.monotonic();
    const ms = Math.round(endedAt - (started.get(change) ?? endedAt));
    emit({ type: "change_finished", at, address, action, ms, ...eventPart(end) });
  };
  return {
    start: (change) => {
      if (started.has(change)) return;
      started.set(change, clock.monotonic());
      emit({ type: "change_started", at: clock.now(), address: change.address, action: change.action });
    },
    end: (change, end, stoppedAt) => {
      if (isHeld(end, budget)) {
        const because = stoppedBy() ?? stoppedAt;
        return because === undefined ? defer(change) : finish(change, { outcome: "skipped", because });
      }
      const failure = "failure" in end ? end.failure : undefined;
      if (failure?.stops === "run") onRunFailure(failure);
      finish(change, end);
    },
    skip: (change, because) => finish(change, { outcome: "skipped", because }),
    defer,
    block: (change) => {
      if (ended.has(change)) return;
      ended.add(change);
      totals.in_doubt += 1;
    },
    hasEnded: (change) => ended.has(change),
    attached: () => {
      hasAttached = true;
    },
    tried: addTried,
    turns: () => [...tried],
    stoppedBy,
    totals: () => ({ ...totals }),
    hasChanged: () => hasAttached || totals.done > 0,
    refused: () => refused,
    unsettled: () => unsettled,
  };
}

interface Deferred {
  readonly outcome: "deferred";
  readonly because: RunLimit;
}

/** The total that an outcome counts for. */
const columns = {
  done: "done",
  skipped: "skipped",
  deferred: "deferred",
  unknown: "in_doubt",
  rejected: "failed",
  not_sent: "failed",
} as const;

function eventPart(end: ChangeEnd | Deferred) {
  if ("because" in end) return { outcome: end.outcome, because: end.because };
  const file = end.fileId === undefined ? {} : { file_id: end.fileId };
  if ("failure" in end) return { outcome: end.outcome, failure: end.failure, ...file };
  return {
    outcome: end.outcome,
    ...file,
    ...(end.productId === undefined ? {} : { product_id: end.productId }),
    ...(end.wasAttached === undefined ? {} : { was_attached: end.wasAttached }),
    ...(end.staysAttached === undefined ? {} : { stays_attached: end.staysAttached }),
  };
}
