import type { Drift } from "./drift.ts";
import type { CallFailure } from "./outcome.ts";
import type { LedgerEffect, UploadList } from "./ports.ts";
import type { Attributes, FileTarget } from "./resource.ts";

/** One thing to look at, which takes one call. */
export type RefreshTarget =
  /** By probe: an update that names no attribute. */
  | { readonly type: "attachment"; readonly address: string; readonly target: FileTarget }
  | { readonly type: "product"; readonly address: string; readonly productId: number }
  /** One page of `GET /api/uploads`. */
  | { readonly type: "uploads"; readonly uploadIds: readonly string[] };

/**
 * What a look found. A failed or partial look is `unreadable`, which is neither present nor absent: the ledger's word
 * stands, and nothing is created or deleted because of it.
 */
export type ReadResult<T> =
  | { readonly type: "present"; readonly value: T }
  | { readonly type: "absent" }
  | { readonly type: "unreadable"; readonly failure: CallFailure };

/** A look and what it found. `at` is when the answer came, epoch milliseconds. */
export type Observation =
  /** The attributes in the response; a service may return none. */
  | (Extract<RefreshTarget, { type: "attachment" }> & {
      readonly at: number;
      readonly read: ReadResult<Attributes>;
    })
  | (Extract<RefreshTarget, { type: "product" }> & { readonly at: number; readonly read: ReadResult<null> })
  | (Extract<RefreshTarget, { type: "uploads" }> & {
      readonly at: number;
      readonly read: ReadResult<UploadList>;
    });

/** How much a refresh fetches: within the budget, or everything. */
export type RefreshMode = "budget" | "full";

/** What a refresh fetched and what it did not, as in a plan's JSON. Times are ISO 8601, UTC. */
export interface RefreshSummary {
  readonly mode: RefreshMode;
  /** Whether attachments are probed, or taken from the ledger. */
  readonly attachments: "none" | "probe";
  /** Calls that were dispatched, retries included. */
  readonly calls: number;
  /** The most calls that were allowed; `null`: no limit. */
  readonly max_calls: number | null;
  /** Attachments, products and uploads with a usable response. */
  readonly checked: number;
  /** Resources without a usable response. */
  readonly unreadable: number;
  /** Resources that were due but not fetched, because the budget was used up. */
  readonly deferred: number;
  /** Recorded attachments and products that this refresh did not check, for whatever reason. */
  readonly not_checked: number;
  /** The oldest confirmation of an attachment or product that the ledger still goes by; `null` when there is none. */
  readonly oldest_unconfirmed: string | null;
}

/** What a refresh comes to. */
export interface Observed {
  readonly summary: RefreshSummary;
  /** Sorted by address. */
  readonly drift: readonly Drift[];
  /** What the ledger may take at once, because nothing a person would decide differently follows from it. */
  readonly confirmations: readonly LedgerEffect[];
  /** Resources without a usable response, and why. */
  readonly unreadable: readonly { readonly address: string; readonly failure: CallFailure }[];
}
