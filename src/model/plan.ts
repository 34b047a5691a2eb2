import type { Action } from "./action.ts";
import type { Change, ResourceName } from "./change.ts";
import type { Diagnostic } from "./diagnostic.ts";
import type { Drift } from "./drift.ts";
import type { RunTotals } from "./event.ts";
import type { RefreshSummary } from "./observed.ts";

/** The version of the plan's JSON. A file with another one is refused. */
export const planFormatVersion = 7;

/** How many changes of each action; `noop` counts what is as desired. Only actions that occur are present. */
export type Summary = Readonly<Partial<Record<Action, number>>>;

/** What carrying the plan out will cost. */
export interface Estimate {
  /** `min`: enough when every call is answered at once. `max`: with the retries that the budget allows and slow uploads. */
  readonly calls: { readonly min: number; readonly max: number };
  /** For `calls.min` under the configured rate, rounded up to whole seconds. */
  readonly seconds: number;
  /** The rate bound used to compute the seconds: at most `limit` calls in any `window_ms`. */
  readonly rate: { readonly limit: number; readonly window_ms: number };
  /** How many uploads one call reads: a setting of the service's profile that the calls were computed with. */
  readonly uploads_per_read: number;
}

/** A draft of the plan, as people know it. */
export interface PlanDraft extends ResourceName {
  /** `drafts/48213` */
  readonly address: string;
}

/** A draft that is recorded and no longer declared. */
export interface RemovedDraft {
  /** `drafts/48213` */
  readonly address: string;
  /** Files that the plan deletes from it. */
  readonly deletes: number;
}

/** The command that keeps the files of removed drafts; it names no more than ten. */
export function keepCommand(removed: readonly RemovedDraft[]): string {
  const names = removed.length > 10 ? ["DRAFT…"] : removed.map(({ address }) => address);
  return ["draftsync state rm", ...names].join(" ");
}

/** A list of a declared draft that its document leaves out. */
export interface UnmanagedList {
  /** `drafts/48213/product_files` */
  readonly address: string;
  /** Recorded files in it. */
  readonly files: number;
}

/** What a plan was made from. Without a ledger: a lineage of "" and serial 0. */
export interface PlanBase {
  readonly lineage: string;
  /** For information: it rises with changes that the plan is not about, too. */
  readonly serial: number;
  /** Every draft and duplicate that the plan changes or reports drift of, sorted by address. */
  readonly resources: readonly PlanBasis[];
}

/** What the ledger recorded, and the manifests declare, for one draft (`drafts/48213`) or duplicate (`duplicates/dragon-winter`). */
export interface PlanBasis {
  readonly address: string;
  /** Names the last change of what is recorded for it; a confirmation is none. Absent when nothing was recorded. */
  readonly version?: string;
  /**
   * Digest of what was recorded, without how it is known. A ledger that was restored from a backup counts its versions once more.
   */
  readonly recorded: string;
  /** Digest of what the manifests declare, with the content of local files; absent when they do not declare it. */
  readonly declared?: string;
  /** Operations in doubt, each by its id and the status of its response, if there was one; sorted; absent without any. */
  readonly in_doubt?: readonly string[];
}

/**
 * The difference, as data. Sorted by address; the same input gives the same bytes. Holds no secret.
 * `plan_id` is the SHA-256 (hex) of the canonical JSON of everything else.
 */
export interface Plan {
  readonly format_version: typeof planFormatVersion;
  readonly plan_id: string;
  readonly workspace: string;
  /** What the plan was made from; the plan is stale once any of it has changed. */
  readonly base: PlanBase;
  readonly service_origin: string;
  /** No person has confirmed the ledger yet: apply leaves publishes and duplicates out, unless one does. */
  readonly new_ledger: boolean;
  readonly summary: Summary;
  readonly estimate: Estimate;
  /** The refresh before the plan; absent without one. */
  readonly refresh?: RefreshSummary;
  /** Every draft that the plan changes or reports drift of, sorted by address. */
  readonly drafts: readonly PlanDraft[];
  /**
   * What changed at the service outside draftsync. The changes are made from what was observed; the ledger
   * takes it when the plan is applied.
   */
  readonly drift?: readonly Drift[];
  /** Recorded drafts that no document declares any more, sorted by address; their deletes are among the changes. */
  readonly removed_drafts: readonly RemovedDraft[];
  /** Recorded files that stay because their draft's document leaves out the list, sorted by address. */
  readonly unmanaged: readonly UnmanagedList[];
  readonly changes: readonly Change[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Whether a run could read less than half of what it tried, and changed nothing: it does not know that all is as desired. */
export function readTooLittle({ refresh }: Plan, { done }: Pick<RunTotals, "done">): boolean {
  return refresh !== undefined && refresh.unreadable > refresh.checked && done === 0;
}
