/**
 * How an operation ended.
 *
 * | outcome | evidence |
 * |---|---|
 * | done | a complete, valid answer that says so |
 * | rejected | a complete, well-formed refusal |
 * | not_sent | no byte of the request was written |
 * | unknown | anything else: the call may or may not have taken effect ("in doubt") |
 */
export type Outcome = "done" | "rejected" | "not_sent" | "unknown";

/** A JSON:API error object, kept whole; only the members that draftsync reads are named. */
export interface ApiError {
  readonly status?: string;
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string; readonly header?: string };
  readonly [member: string]: unknown;
}

/** Why a call did not end `done`. */
export interface CallFailure {
  /** Stable, kebab-case. */
  readonly code: string;
  /** One sentence, without secrets; may hold text from the service. */
  readonly message: string;
  /** The request or the file that the message begins with, before a colon; the rest of the message is the cause. */
  readonly subject?: string;
  readonly hint?: string;
  readonly status?: number;
  readonly errors: readonly ApiError[];
  /** What must not go on after it: only this operation, the rest of its draft, or the whole run. */
  readonly stops: "operation" | "draft" | "run";
}

/** The end of a call, after its retries. `attempts` counts requests that were dispatched. */
export type CallResult<T> =
  | { readonly outcome: "done"; readonly status: number; readonly value: T; readonly attempts: number }
  | {
      readonly outcome: "rejected" | "not_sent" | "unknown";
      readonly failure: CallFailure;
      readonly attempts: number;
    };
