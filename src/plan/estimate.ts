import type { AttachmentState, Change } from "../model/change.ts";
import { draftOf, stagesOf } from "../model/change.ts";
import type { Estimate } from "../model/plan.ts";

/** At most `limit` calls in any window of `windowMs` milliseconds. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** What the profile of the service says about the number of calls. */
export interface CallProfile {
  /** Without a parameter that lists upload ids, each upload takes a read of its own. */
  readonly uploads_query: string | null;
  /** Upload ids in one read. */
  readonly uploads_page: number;
}

/** Upload ids in one read. */
export function uploadsPerRead({ uploads_query, uploads_page }: CallProfile): number {
  return uploads_query === null ? 1 : uploads_page;
}

/** What an estimate depends on besides the changes. */
export interface EstimateBasis {
  readonly rate: Rate;
  readonly uploadsPerRead: number;
}
/** Polls of a slow upload in the upper estimate: a minute of processing. */
const slowPolls = 15;
/** The retry budget (docs/operations/reliability.md, P9): ten are free, then one for every ten calls. */
const freeRetries = 10;

/** What an estimate was computed from, for another set of changes. */
export function basisOf({ rate, uploads_per_read }: Estimate): EstimateBasis {
  return { rate: { limit: rate.limit, windowMs: rate.window_ms }, uploadsPerRead: uploads_per_read };
}

/**
 * What carrying out the changes will cost. `calls.min` is enough when every call is answered at once and every upload has ended
 * when it is first read; `calls.max` adds the retries that the budget allows and slow uploads. Bytes go to the object storage,
 * not to the service, so they do not count.
 */
export function estimateCost(changes: readonly Change[], basis: EstimateBasis): Estimate {
  const { rate } = basis;
  const uploads = countUploads(changes, basis.uploadsPerRead);
  const direct = changes.reduce((sum, change) => sum + directCalls(change), 0);
  const min = direct + uploads.credentials + uploads.registered + uploads.reads + firstReads(changes);
  const retries = Math.min(2 * min, freeRetries + Math.ceil(min / 10));
  return {
    calls: { min, max: min + retries + uploads.reads * (slowPolls - 1) },
    seconds: Math.ceil((min * rate.windowMs) / rate.limit / 1000),
    rate: { limit: rate.limit, window_ms: rate.windowMs },
    uploads_per_read: basis.uploadsPerRead,
  };
}

/**
 * One read goes before a publish or duplicate while the service has not returned a document in this run: 1 when one of them
 * may be the first call, 0 when each comes after a call of its own draft that returns one.
 */
function firstReads(changes: readonly Change[]): number {
  const answered = new Set<number>();
  const published = new Set<number>();
  for (const change of changes) {
    const draftId = draftOf(change);
    if (returnsDocument(change)) answered.add(draftId);
    if (change.action === "publish") published.add(draftId);
  }
  return changes.some((change) => {
    if (change.action === "publish") return !answered.has(draftOf(change));
    if (change.action !== "duplicate") return false;
    const { draft_id: draftId, product_id: productId } = change.after;
    return productId !== undefined || draftId === undefined || !published.has(draftId);
  })
    ? 1
    : 0;
}

/** A delete is answered without a document. */
function returnsDocument(change: Change): boolean {
  return stagesOf(change).includes("attach");
}

function directCalls(change: Change): number {
  return stagesOf(change).filter((stage) => stage !== "ledger").length;
}

interface UploadCount {
  readonly credentials: number;
  readonly registered: number;
  readonly reads: number;
}

/** A source that several attachments share is uploaded once. The uploads of one draft start, and are read, together. */
function countUploads(changes: readonly Change[], perRead: number): UploadCount {
  const names = { source: new Set<string>(), key: new Set<string>(), id: new Set<string>() };
  const byDraft = new Map<number, Set<string>>();
  for (const change of changes) {
    if (change.action !== "create" && change.action !== "replace") continue;
    const upload = uploadOf(change.after);
    if (upload === undefined) continue;
    names[upload.type].add(upload.name);
    const own = byDraft.get(draftOf(change)) ?? new Set<string>();
    byDraft.set(draftOf(change), own.add(`${upload.type} ${upload.name}`));
  }
  const registered = names.source.size + names.key.size;
  const reads = [...byDraft.values()].reduce((sum, own) => sum + Math.ceil(own.size / perRead), 0);
  return {
    credentials: names.source.size > 0 ? 1 : 0,
    registered,
    reads: Math.min(reads, registered + names.id.size),
  };
}

function uploadOf({ file_id, upload_id, upload_key, source, sha256 }: AttachmentState) {
  if (file_id !== undefined) return undefined;
  if (upload_id !== undefined) return { type: "id", name: upload_id } as const;
  if (upload_key !== undefined) return { type: "key", name: upload_key } as const;
  return { type: "source", name: `${sha256} ${source}` } as const;
}
