import { parseAddress } from "../model/address.ts";
import { orderState } from "../model/attachment-state.ts";
import type { AttachmentState, Undeclared } from "../model/change.ts";
import type { DesiredAttachment } from "../model/desired.ts";
import type { RecordedAttachment, RecordedOperation } from "../model/recorded.ts";
import { pickAttributes } from "../model/resource.ts";
import type { UnmanagedTest } from "./declared.ts";
import type { RecordedIndex } from "./recorded-index.ts";

/** The file id of a desired attachment, as far as it is known before anything is uploaded. */
export function fileIdOf(attachment: DesiredAttachment, index: RecordedIndex): number | undefined {
  const { ref } = attachment.address;
  return ref.by === "file_id" ? ref.fileId : index.uploadFor(attachment)?.fileId;
}

/** What a manifest asks for, with what is known of its upload. */
export function desiredState(attachment: DesiredAttachment, index: RecordedIndex): AttachmentState {
  const { ref } = attachment.address;
  const upload = index.uploadFor(attachment);
  const fileId = fileIdOf(attachment, index);
  const storedKey = upload === undefined ? index.storedKeyFor(attachment) : undefined;
  return orderState({
    ...(fileId === undefined ? {} : { file_id: fileId }),
    ...(ref.by === "source" ? { source: ref.source, ...attachment.content } : {}),
    ...(ref.by === "upload_key" ? { upload_key: ref.uploadKey } : {}),
    ...(ref.by === "upload_id" ? { upload_id: ref.uploadId } : {}),
    ...(storedKey === undefined ? {} : { upload_key: storedKey }),
    ...(upload !== undefined && fileId === undefined ? { upload_id: upload.uploadId } : {}),
    ...attachment.attributes,
  });
}

/** What apply may make of an attachment in doubt: only what is still desired, with the content and attributes that were sent. */
export function settleableState(
  { intent }: RecordedOperation,
  attachment: DesiredAttachment | undefined,
  index: RecordedIndex,
): AttachmentState | null {
  if (attachment === undefined || intent.fileId === undefined) return null;
  const isSource = attachment.address.ref.by === "source";
  if (isSource && attachment.content?.sha256 !== intent.sha256) return null;
  const sent = pickAttributes(attachment.address.kind, intent.attributes ?? {});
  const attributes = { ...sent, ...attachment.attributes };
  return orderState({ ...desiredState({ ...attachment, attributes }, index), file_id: intent.fileId });
}

/** What was sent, of a file that the manifests do not ask for any more, or not with this content. */
export function undeclaredState(
  { address, intent }: RecordedOperation,
  undeclared: Undeclared,
  isUnmanaged: UnmanagedTest,
): [AttachmentState | null, Undeclared?] {
  const { fileId, attributes = {}, sha256 } = intent;
  const parsed = parseAddress(address);
  if (fileId === undefined || parsed?.type !== "attachment") return [null];
  const digest = sha256 === undefined ? {} : { sha256 };
  const sent = pickAttributes(parsed.kind, attributes);
  return [orderState({ file_id: fileId, ...digest, ...sent }), isUnmanaged(parsed) ? "left_out" : undeclared];
}

/** The state includes the record's own address when it differs from the change's. */
export function recordedState(known: RecordedAttachment, address: string): AttachmentState {
  return orderState({
    file_id: known.fileId,
    ...(known.address === address ? {} : { address: known.address }),
    ...(known.sha256 === undefined ? {} : { sha256: known.sha256 }),
    ...known.attributes,
  });
}
