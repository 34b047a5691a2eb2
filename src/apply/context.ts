import type { EventSink } from "../model/event.ts";
import type { CallFailure } from "../model/outcome.ts";
import type { Plan } from "../model/plan.ts";
import type { Clock, DraftService, Ledger, LedgerOwner, ObjectStorage } from "../model/ports.ts";
import type { OutcomeTracker } from "../model/recovery.ts";
import type { Holders } from "./claims.ts";
import type { EarlierWrites } from "./earlier-writes.ts";
import type { RunBudget, RunLimits } from "./run-budget.ts";
import type { Turns } from "./start-order.ts";

/** What a plan is applied with. The plan must have passed its safety checks. */
export interface ApplyOptions {
  readonly plan: Plan;
  readonly ledger: Ledger;
  /** Gets each outcome that the ledger fails to record, at once. */
  readonly outcomes: OutcomeTracker;
  readonly service: DraftService;
  readonly storage: ObjectStorage;
  readonly clock: Clock;
  readonly emit: EventSink;
  /** The user's interrupt: no new call starts after it; those in flight are awaited. */
  readonly signal: AbortSignal;
  /** How long a lost call may still take effect at the service, milliseconds. */
  readonly settleDelayMs: number;
  /** How many drafts are worked on at a time; the calls are bounded by the service. */
  readonly concurrency: number;
  /** The command, for the ledger's history. */
  readonly command: string;
  /** How far this run may go; absent: to the end. */
  readonly limits?: RunLimits;
  /** When a person confirmed the new ledger for this service, epoch milliseconds. */
  readonly confirmedAt?: number | undefined;
}

/** What the changes of one run work with. */
export interface ApplyContext
  extends Pick<
    ApplyOptions,
    "ledger" | "outcomes" | "service" | "storage" | "clock" | "emit" | "settleDelayMs"
  > {
  readonly runId: string;
  /** When the run began, by the monotonic clock, milliseconds: what an earlier run has sent was sent before. */
  readonly startedAt: number;
  /** Binds the ledger to the service that the run calls, once the service has accepted a call. */
  readonly bind: () => Promise<void>;
  /** Aborted by the user's interrupt, by a failure that stops the run, and by a failing ledger. */
  readonly signal: AbortSignal;
  readonly earlierWrites: EarlierWrites;
  /** What the ledger records or this run made, by its id; read once, before the first is made. */
  readonly holders: () => Promise<Holders>;
  /** When earlier limited runs began something; empty in a run without a limit. */
  readonly turns: Turns;
  /** Lets another draft be worked on while this one only waits. */
  readonly whileIdle: <T>(work: () => Promise<T>) => Promise<T>;
  /** How far the run may go; absent: to the end. */
  readonly budget?: RunBudget | undefined;
}

/** The end of one change, or of one of its stages. */
export type ChangeEnd =
  | {
      readonly outcome: "done";
      readonly fileId?: number;
      readonly productId?: number;
      /** The service had refused to attach the file, because it was attached before. */
      readonly wasAttached?: true;
      /** Of a delete: another entry has taken the file. */
      readonly staysAttached?: true;
    }
  | {
      readonly outcome: "rejected" | "not_sent" | "unknown";
      readonly failure: CallFailure;
      readonly fileId?: number;
      /** Of an upload: whether something was sent for it in this run. */
      readonly isBegun?: boolean;
    }
  | { readonly outcome: "skipped"; readonly because: string };

/**
 * Whether a change did not take effect because of the run: it was interrupted or stopped, or has reached a limit, or its time
 * was up while the service asked to wait.
 */
export function isHeld(end: ChangeEnd, budget: RunBudget | undefined): boolean {
  if (!("failure" in end)) return false;
  const { code } = end.failure;
  if (end.outcome === "not_sent") return code === "aborted" || code === "call-budget-exhausted";
  return end.outcome === "rejected" && code === "rate-limited" && budget?.signal.aborted === true;
}

/** Makes {@link ApplyContext.bind}: one transaction a run, and another only where the first one failed. */
export function bindOnce(
  ledger: Pick<Ledger, "bind">,
  owner: LedgerOwner,
  confirmedAt?: number,
): () => Promise<void> {
  let bound: Promise<void> | undefined;
  return () => {
    bound ??= ledger.bind(owner, confirmedAt).catch((error: unknown) => {
      bound = undefined;
      throw error;
    });
    return bound;
  };
}

/** Makes the id of a run: a random UUID (RFC 9562 version 4), of which people type the first characters. */
export function newRunId(): string {
  return crypto.randomUUID();
}

/**
 * Makes the id of an operation: a UUID that begins with the time (RFC 9562 version 7), so that the journal's index of them grows
 * at its end.
 */
export function newOperationId(): string {
  const ms = Date.now().toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}
