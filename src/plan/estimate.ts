import type { AttachmentState, Change } from "../model/change.ts";
import type { Estimate } from "../model/plan.ts";

/** At most `limit` calls in any window of `windowMs` milliseconds. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** Upload ids in one `GET /api/uploads` (SERVICE: 50 ids a call). */
const uploadsPerPoll = 50;
/** Polls that a slow upload may take in the upper estimate: about a minute of processing. */
const slowPolls = 15;
/** The retry budget (RELIABILITY P9): ten are free, then one for every ten calls. */
const freeRetries = 10;

/**
 * What carrying out the changes will cost. `calls.min` is {@link fewestCalls}; `calls.max` adds the retries that the
 * budget allows and slow uploads. Bytes go to the object storage, not to the service, so they do not count.
 */
export function estimateCost(changes: readonly Change[], rate: Rate): Estimate {
  const min = fewestCalls(changes);
  const polls = pollsOf(countUploads(changes));
  const retries = Math.min(2 * min, freeRetries + Math.ceil(min / 10));
  return {
    calls: { min, max: min + retries + polls * (slowPolls - 1) },
    seconds: Math.ceil((min * rate.windowMs) / rate.limit / 1000),
    rate: { limit: rate.limit, window_ms: rate.windowMs },
  };
}

/** What carrying out the changes takes when every call is answered at once and every upload has ended when asked. */
export function fewestCalls(changes: readonly Change[]): number {
  const direct = changes.reduce((sum, change) => sum + directCalls(change), 0);
  const uploads = countUploads(changes);
  return direct + uploads.credentials + uploads.registered + pollsOf(uploads);
}

function pollsOf({ polled }: UploadCount): number {
  return Math.ceil(polled / uploadsPerPoll);
}

function directCalls(change: Change): number {
  switch (change.action) {
    case "create":
    case "delete":
    case "publish":
    case "duplicate":
      return 1;
    case "replace":
      return 2;
    case "update":
      return "protect" in change.after ? 0 : 1;
    case "in_doubt":
      return change.after === null ? 0 : 1;
    case "adopt":
    case "forget":
      return 0;
  }
}

interface UploadCount {
  readonly credentials: number;
  readonly registered: number;
  readonly polled: number;
}

/** A source that several attachments share is uploaded once. */
function countUploads(changes: readonly Change[]): UploadCount {
  const sources = new Set<string>();
  const keys = new Set<string>();
  const ids = new Set<string>();
  for (const change of changes) {
    if (change.action !== "create" && change.action !== "replace") continue;
    const after: AttachmentState = change.after;
    if (after.file_id !== undefined) continue;
    if (after.upload_id !== undefined) ids.add(after.upload_id);
    else if (after.upload_key !== undefined) keys.add(after.upload_key);
    else sources.add(`${after.sha256} ${after.source}`);
  }
  const registered = sources.size + keys.size;
  return { credentials: sources.size > 0 ? 1 : 0, registered, polled: registered + ids.size };
}
