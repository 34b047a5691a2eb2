import type { DesiredAttachment } from "./desired.ts";
import { makeClaim } from "./lists.ts";
import type { CallFailure } from "./outcome.ts";
import type { LedgerEffect, UploadStatus } from "./ports.ts";
import type { Recorded, RecordedUpload } from "./recorded.ts";

/** The name of the upload of a local file with this content. */
export function sourceUploadName(source: string, sha256: string | undefined): string {
  return `source:${sha256}:${source}`;
}

/** The name of the upload that a desired attachment needs; empty for a file that is named by its id. */
export function uploadNameOf({ address: { ref }, content }: DesiredAttachment): string {
  switch (ref.by) {
    case "file_id":
      return "";
    case "source":
      return sourceUploadName(ref.source, content?.sha256);
    case "upload_id":
      return `upload_id:${ref.uploadId}`;
    case "upload_key":
      return `upload_key:${ref.uploadKey}`;
  }
}

/** All names of a recorded upload. */
export function uploadNamesOf({ uploadId, uploadKey, source, sha256 }: RecordedUpload): readonly string[] {
  const id = `upload_id:${uploadId}`;
  if (source !== undefined) return [id, sourceUploadName(source, sha256)];
  return uploadKey === undefined ? [id] : [id, `upload_key:${uploadKey}`];
}

/** The digest of the local file that each file at the service was made from, by its id. */
export function digestsOfFiles({ uploads }: Pick<Recorded, "uploads">): Map<number, string> {
  return new Map(
    uploads.flatMap(({ fileId, sha256 }) =>
      fileId === undefined || sha256 === undefined ? [] : [[fileId, sha256]],
    ),
  );
}

/** Takes the file of a response for a content; words for the file if it was made from a different one. */
export function claimFile(
  { fileId, sha256 }: { readonly fileId?: number | undefined; readonly sha256?: string | undefined },
  digests: Map<number, string>,
): string | undefined {
  if (fileId === undefined || sha256 === undefined) return undefined;
  const isOther = makeClaim(sha256, digests)(fileId) !== undefined;
  return isOther ? `file ${fileId}, which was made from different content` : undefined;
}

/**
 * The failure of a response about an upload that names another object than the recorded key, or the file of different content:
 * that would be attached, and sold, in the other one's place. A response need not name the object. Adds the file to `digests`.
 */
export function otherObjectFailure(
  { uploadId, uploadKey, fileId }: Pick<UploadStatus, "uploadId" | "uploadKey" | "fileId">,
  own: { readonly uploadKey?: string | undefined; readonly sha256?: string | undefined },
  digests: Map<number, string>,
): CallFailure | undefined {
  const isOther = uploadKey !== undefined && own.uploadKey !== undefined && uploadKey !== own.uploadKey;
  const named = isOther
    ? `the object ${uploadKey.slice(0, 100)}, not ${own.uploadKey}`
    : claimFile({ fileId, sha256: own.sha256 }, digests);
  if (named === undefined) return undefined;
  return {
    code: "response-mismatch",
    message: `upload ${uploadId}: the response names ${named}`,
    subject: `upload ${uploadId}`,
    hint: isOther
      ? "Run the command again: it reads the upload again."
      : `Run the command again. If the other upload of file ${fileId} had the wrong response: \`draftsync state rm\` with its address (\`draftsync state list\` shows it), and the next run uploads it again.`,
    errors: [],
    stops: "operation",
  };
}

/** What the ledger takes from an upload that was read: nothing while it has not ended. */
export function uploadEndEffects({
  uploadId,
  status,
  fileId,
}: Pick<UploadStatus, "uploadId" | "status" | "fileId">): LedgerEffect[] {
  if (status === "pending") return [];
  return [{ type: "upload_ended", uploadId, status, ...(fileId === undefined ? {} : { fileId }) }];
}

/** The object of each upload that draftsync registered, by the id of the upload. */
export function keysOfUploads({ uploads }: Pick<Recorded, "uploads">): Map<string, string> {
  return new Map(
    uploads.flatMap(({ uploadId, uploadKey }) => (uploadKey === undefined ? [] : [[uploadId, uploadKey]])),
  );
}
