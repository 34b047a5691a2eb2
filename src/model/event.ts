import type { Action } from "./action.ts";
import type { RefreshSummary } from "./observed.ts";
import type { CallFailure, Outcome } from "./outcome.ts";
import type { Estimate, Summary } from "./plan.ts";
import type { RunLimit } from "./run-limits.ts";

/** The version of the events' JSON. */
export const eventFormatVersion = 1;

/**
 * How a change ended: as its calls did; `skipped` because something before it did not end well; or `deferred` to the next run
 * because this one has reached its limit. A deferred change may have made some of its calls.
 */
export type ChangeOutcome = Outcome | "skipped" | "deferred";

/** How a run ended, counted in changes. */
export interface RunTotals {
  readonly done: number;
  readonly failed: number;
  readonly in_doubt: number;
  readonly skipped: number;
  /** Deferred to the next run, because this one had reached its limit of calls or time. */
  readonly deferred: number;
  /** Requests that were dispatched to the service, retries and polls included. */
  readonly calls: number;
}

/** How the bytes of a file were put into storage. */
export type StoreOutcome = Exclude<Outcome, "unknown">;

/** What a wait is for; `shared_bound`: others use the rate bound, or did until they ended; `ledger`: its database. */
export type WaitReason = "ledger" | "retry_after" | "shared_bound" | "backoff" | "settle" | "upload";

/**
 * What the engine says while it works. Events hold no words for people (report/ finds those) and no secrets.
 * Times are epoch milliseconds (`at`) and milliseconds (`ms`).
 */
export type Event =
  /** Comes first, unless a refresh runs before. `format_version`, which the first event has, is that of all. */
  | {
      readonly type: "planned";
      readonly format_version: typeof eventFormatVersion;
      readonly at: number;
      readonly plan_id: string;
      readonly workspace: string;
      readonly summary: Summary;
      readonly estimate: Estimate;
    }
  /** Looking at the service begins; `calls` without retries. */
  | {
      readonly type: "refresh_started";
      readonly format_version: typeof eventFormatVersion;
      readonly at: number;
      readonly calls: number;
    }
  | (RefreshSummary & { readonly type: "refresh_finished"; readonly at: number; readonly drift: number })
  | {
      readonly type: "run_started";
      readonly at: number;
      readonly run_id: string;
      readonly plan_id: string;
      readonly summary: Summary;
      readonly calls: number;
    }
  /** A change of the plan that this run leaves out until a person settles it; `code` is that of the warning. */
  | {
      readonly type: "change_excluded";
      readonly at: number;
      readonly address: string;
      readonly action: Action;
      readonly code: string;
    }
  | {
      readonly type: "change_started";
      readonly at: number;
      readonly address: string;
      readonly action: Action;
    }
  | {
      readonly type: "change_finished";
      readonly at: number;
      readonly address: string;
      readonly action: Action;
      readonly outcome: ChangeOutcome;
      readonly ms: number;
      readonly file_id?: number;
      readonly product_id?: number;
      /** The file was attached before this ledger, so its draft may be published as well. */
      readonly was_attached?: true;
      readonly failure?: CallFailure;
      /** For `skipped`: the address of what it waited for, or what stopped the run. For `deferred`: the limit. */
      readonly because?: string;
    }
  | {
      readonly type: "call_finished";
      readonly at: number;
      readonly method: string;
      readonly path: string;
      /** Of the resource that a writing call is about. */
      readonly address?: string;
      readonly attempt: number;
      readonly outcome: Outcome;
      readonly status?: number;
      readonly ms: number;
    }
  /** One request to object storage, its retries apart. Query and signature are left out. */
  | {
      readonly type: "storage_call_finished";
      readonly at: number;
      readonly method: string;
      readonly bucket: string;
      readonly key: string;
      readonly attempt: number;
      /** Absent when no answer came. */
      readonly status?: number;
      readonly ms: number;
    }
  | { readonly type: "waiting"; readonly at: number; readonly reason: WaitReason; readonly ms: number }
  /** The service has announced a bound of its own, which is kept beside the configured one. */
  | {
      readonly type: "bound_announced";
      readonly at: number;
      readonly limit: number;
      readonly window_ms: number;
    }
  /** Bytes of a local file that storage has taken; `sent` is 0 when it begins, and a large file grows part by part. */
  | {
      readonly type: "upload_progress";
      readonly at: number;
      readonly source: string;
      readonly sent: number;
      readonly total: number;
    }
  /** The bytes of a file are in storage, or will not be; the service has not seen them yet. */
  | {
      readonly type: "upload_finished";
      readonly at: number;
      readonly source: string;
      readonly outcome: StoreOutcome;
      readonly ms: number;
    }
  | {
      readonly type: "run_finished";
      readonly at: number;
      readonly run_id: string;
      readonly totals: RunTotals;
      readonly ms: number;
      /** Present when the run ended before its plan did. */
      readonly stopped?: "interrupted" | RunLimit | CallFailure;
    };

/** Where events go. Must not throw and must not block. */
export type EventSink = (event: Event) => void;
