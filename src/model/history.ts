import type { LockHolder } from "./lock.ts";
import type { CallFailure, Outcome } from "./outcome.ts";
import type { RecordedOperation } from "./recorded.ts";

/** How a doubt may have ended. */
export const settlements = ["done", "rejected", "not_sent", "superseded"] as const;

/** One of {@link settlements}. */
export type Settlement = (typeof settlements)[number];

/** A writing call and how it ended. Times are epoch milliseconds. */
export interface StoredOperation extends RecordedOperation {
  /** Absent between intent and outcome. */
  readonly outcome?: Outcome;
  /** Of the HTTP answer, when there was one. */
  readonly status?: number;
  readonly attempts?: number;
  readonly failure?: CallFailure;
  /** Present once the operation was in doubt and is no more. */
  readonly settled?: OperationSettlement;
}

/** How a doubt ended. `by` is the operation that proved it, when one did. */
export interface OperationSettlement {
  readonly as: Settlement;
  readonly at: number;
  readonly by?: string;
}

/** A run of `apply`, with how it ended unless it was cut off. Times are epoch milliseconds. */
export interface StoredRun {
  readonly id: string;
  readonly command: string;
  readonly planId: string;
  readonly startedAt: number;
  readonly finishedAt?: number;
  readonly status?: string;
  /** As the run reported them. */
  readonly totals?: unknown;
  readonly startedBy?: LockHolder;
}
