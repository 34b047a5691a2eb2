import type { StoredOperation, StoredRun } from "../model/history.ts";
import type {
  Recorded,
  RecordedAttachment,
  RecordedDuplicate,
  RecordedObject,
  RecordedPublication,
  RecordedRefresh,
  RecordedUpload,
} from "../model/recorded.ts";

/**
 * Everything a ledger holds, as plain values; `exportDocument` makes the JSON of it that is written. Attachments are sorted by address, publications by draft and revision,
 * duplicates by name, uploads by id, operations and runs by start: the same content gives the same bytes. A ledger
 * holds no secrets, so neither does this. Times are epoch milliseconds.
 */
export interface LedgerExport {
  readonly lineage: string;
  readonly serial: number;
  readonly service_origin: string | null;
  readonly workspace: string | null;
  /** When a person confirmed the ledger; null while it is new. */
  readonly confirmed_at: number | null;
  readonly protected_drafts: readonly number[];
  /** Drafts that may have been published before the ledger, and when that was found. */
  readonly maybe_published: readonly { readonly draftId: number; readonly at: number }[];
  readonly attachments: readonly RecordedAttachment[];
  readonly publications: readonly RecordedPublication[];
  readonly duplicates: readonly RecordedDuplicate[];
  readonly uploads: readonly RecordedUpload[];
  readonly stored_objects: readonly RecordedObject[];
  readonly refreshes: readonly RecordedRefresh[];
  readonly operations: readonly StoredOperation[];
  readonly runs: readonly StoredRun[];
}

/** Puts an export together. Operations in doubt are those of `operations` that are not settled. */
export function makeExport(
  recorded: Recorded,
  history: {
    readonly operations: readonly StoredOperation[];
    readonly runs: readonly StoredRun[];
    readonly confirmedAt?: number | undefined;
  },
): LedgerExport {
  return {
    lineage: recorded.lineage,
    serial: recorded.serial,
    service_origin: recorded.serviceOrigin ?? null,
    workspace: recorded.workspace ?? null,
    confirmed_at: history.confirmedAt ?? null,
    protected_drafts: [...recorded.protectedDrafts],
    maybe_published: [...recorded.maybePublished].map(([draftId, at]) => ({ draftId, at })),
    attachments: recorded.attachments,
    publications: recorded.publications,
    duplicates: recorded.duplicates,
    uploads: recorded.uploads,
    stored_objects: recorded.storedObjects,
    refreshes: recorded.refreshes,
    operations: history.operations,
    runs: history.runs,
  };
}
