import { z } from "zod";
import { lockHolderSchema } from "./lock.ts";
import { outcomes, storedFailureSchema } from "./outcome.ts";
import { operationSchema, type RecordedOperation } from "./recorded.ts";

/** How an operation in doubt may have been settled. */
export const settlements = ["done", "rejected", "not_sent", "superseded"] as const;

/** One of {@link settlements}. */
export type Settlement = (typeof settlements)[number];

/** A writing call and how it ended. Times are epoch milliseconds. */
export const storedOperationSchema = operationSchema.extend({
  /** Absent between intent and outcome. */
  outcome: z.enum(outcomes).exactOptional(),
  /** Requests; absent too where the operation ended because its lock was taken over. */
  attempts: z.int().exactOptional(),
  failure: storedFailureSchema.exactOptional(),
  /** Present once the operation was in doubt and is no more; `by` is the operation that proved it, when one did. */
  settled: z
    .strictObject({ as: z.enum(settlements), at: z.int(), by: z.string().exactOptional() })
    .exactOptional(),
});

/** {@link storedOperationSchema}, with `detail`: the message of `failure`. */
export type StoredOperation = RecordedOperation & Readonly<z.output<typeof storedOperationSchema>>;

/** A run of `apply`, with how it ended unless it was cut off. Times are epoch milliseconds. */
export const runSchema = z.object({
  id: z.string(),
  command: z.string(),
  planId: z.string(),
  startedAt: z.int(),
  finishedAt: z.int().exactOptional(),
  status: z.string().exactOptional(),
  /** As the run reported them. */
  totals: z.json().exactOptional(),
  /** The holder of the lock; absent for runs that `state recover` found in a recovery log. */
  startedBy: lockHolderSchema.exactOptional(),
});

/** {@link runSchema} */
export type StoredRun = Readonly<z.output<typeof runSchema>>;
