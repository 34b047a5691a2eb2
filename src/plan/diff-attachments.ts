import { compareText, formatAddress } from "../model/address.ts";
import { orderState } from "../model/attachment-state.ts";
import type { AttachmentChange, AttachmentState, Change, Reason } from "../model/change.ts";
import type { Desired, DesiredAttachment } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { lazily } from "../model/lazily.ts";
import { placeAt } from "../model/position.ts";
import type { Recorded, RecordedAttachment, RecordedOperation } from "../model/recorded.ts";
import { confirmedState } from "../model/recorded.ts";
import { attributeNames, changedAttributes, fileResource, hasAttributes } from "../model/resource.ts";
import { makeUnmanagedTest } from "./declared.ts";
import type { Differences } from "./differences.ts";
import { blockingDoubts, inDoubtChange } from "./doubts.ts";
import type { RecordedIndex } from "./recorded-index.ts";
import { indexRecorded } from "./recorded-index.ts";

/** Product and promotional files: desired against recorded. */
export function diffAttachments(desired: Desired, recorded: Recorded): Differences {
  const index = indexRecorded(recorded);
  const doubts = blockingDoubts(recorded);
  const inOrder = addressed(desired);
  // Of most catalogues nearly everything is as it was, and then nobody asks what else is wanted.
  const wanted = lazily(() => new Map(inOrder.map(({ address, attachment }) => [address, attachment])));
  const changes: Change[] = [];
  const unchanged: string[] = [];
  const diagnostics: Diagnostic[] = [];
  /** Recorded attachments that a desired one of another address accounts for. */
  const claimed = new Set<RecordedAttachment>();
  /** How many records a desired attachment accounts for, claimed or not. */
  let accounted = 0;
  for (const operation of doubts.values()) {
    if (operation.kind === "attach") changes.push(...diffDoubt(operation, wanted(), index));
  }
  for (const { address, attachment } of inOrder) {
    if (doubts.has(address)) continue;
    const found = findRecorded(address, attachment, { index, wanted, claimed });
    if (found === "same-file") {
      diagnostics.push(sameFileTwice(address, attachment, index));
      continue;
    }
    const change = compare(address, attachment, found?.record, index);
    if (change === undefined) unchanged.push(address);
    else changes.push(change);
    if (found === undefined) continue;
    accounted += 1;
    if (found.record.address !== address) claimed.add(found.record);
    if (found.former === undefined) continue;
    claimed.add(found.former);
    changes.push(...formerRemoval(found.former, wanted()));
  }
  const isUnmanaged = makeUnmanagedTest(desired);
  const unmanaged: string[] = [];
  const left = accounted < recorded.attachments.length ? recorded.attachments : [];
  for (const attachment of left) {
    const { address } = attachment;
    if (claimed.has(attachment) || wanted().has(address) || doubts.has(address)) continue;
    if (isUnmanaged(attachment)) unmanaged.push(address);
    else changes.push(removal(attachment, { address, reason: "not_in_manifest" }));
  }
  return { changes, unchanged, unmanaged, diagnostics };
}

interface Addressed {
  readonly address: string;
  readonly attachment: DesiredAttachment;
}

/** By address, so that nothing depends on the order of the manifests. */
function addressed({ drafts }: Desired): readonly Addressed[] {
  const all: Addressed[] = [];
  for (const { attachments } of drafts) {
    for (const attachment of attachments)
      all.push({ address: formatAddress(attachment.address), attachment });
  }
  return all.sort((a, b) => compareText(a.address, b.address));
}

/** An attachment in doubt; and once it is settled, the file that it takes the place of. */
function diffDoubt(
  operation: RecordedOperation,
  wanted: ReadonlyMap<string, DesiredAttachment>,
  index: RecordedIndex,
): readonly Change[] {
  const after = settleableState(operation, wanted.get(operation.address), index);
  const settling = inDoubtChange(operation, after);
  const replaced = after === null ? undefined : index.at(operation.address);
  if (replaced === undefined || replaced.fileId === operation.intent.fileId) return [settling];
  return [settling, ...formerRemoval(replaced, wanted)];
}

/** A file's record gives up the address when the new file's takes it. Left attached, it would be published too. */
function formerRemoval(
  former: RecordedAttachment,
  wanted: ReadonlyMap<string, DesiredAttachment>,
): readonly Change[] {
  const address = fileResource(former);
  return wanted.has(address) ? [] : [removal(former, { address, reason: "content_changed" })];
}

interface Search {
  readonly index: RecordedIndex;
  readonly wanted: () => ReadonlyMap<string, DesiredAttachment>;
  readonly claimed: ReadonlySet<RecordedAttachment>;
}

interface Found {
  readonly record: RecordedAttachment;
  /** What has the address and is not the desired file. */
  readonly former?: RecordedAttachment;
}

/**
 * The record of a desired attachment: by its address; else, or when that has another content, the file that is attached
 * under another address. `same-file` when another desired attachment is that file.
 */
function findRecorded(
  address: string,
  attachment: DesiredAttachment,
  search: Search,
): Found | "same-file" | undefined {
  const own = search.index.at(address);
  if (own !== undefined && !isOtherContent(attachment, own, search.index)) return { record: own };
  const elsewhere = findElsewhere(attachment, search);
  if (elsewhere === "same-file") return elsewhere;
  if (elsewhere === undefined) return own === undefined ? undefined : { record: own };
  return own === undefined ? { record: elsewhere } : { record: elsewhere, former: own };
}

/** By its file id, when a manifest now names the file another way; else by its content, when a local file was renamed. */
function findElsewhere(
  attachment: DesiredAttachment,
  { index, wanted, claimed }: Search,
): RecordedAttachment | "same-file" | undefined {
  const fileId = fileIdOf(attachment, index);
  const sameFile = fileId === undefined ? undefined : index.ofFile(attachment, fileId);
  if (sameFile !== undefined) {
    return wanted().has(sameFile.address) || claimed.has(sameFile) ? "same-file" : sameFile;
  }
  if (attachment.content === undefined) return undefined;
  return index.ofContent(attachment).find((other) => !wanted().has(other.address) && !claimed.has(other));
}

/** The file id of a desired attachment, as far as it is known before anything is uploaded. */
function fileIdOf(attachment: DesiredAttachment, index: RecordedIndex): number | undefined {
  const { ref } = attachment.address;
  return ref.by === "file_id" ? ref.fileId : index.uploadFor(attachment)?.fileId;
}

function compare(
  address: string,
  attachment: DesiredAttachment,
  known: RecordedAttachment | undefined,
  index: RecordedIndex,
): AttachmentChange | undefined {
  const { kind } = attachment.address;
  if (known !== undefined && isAsDesired(address, attachment, known, index)) return undefined;
  const after = desiredState(attachment, index);
  if (known === undefined) {
    const attributes = changedAttributes(kind, {}, attachment.attributes);
    return { address, action: "create", reason: "not_recorded", before: null, after, attributes };
  }
  const attributes = changedAttributes(kind, index.knownAttributes(known), attachment.attributes);
  const before = recordedState(known, address);
  const confirmed = confirmedState(known.provenance);
  if (isOtherContent(attachment, known, index)) {
    return { address, action: "replace", reason: "content_changed", before, after, attributes, confirmed };
  }
  const same = orderState({ ...after, file_id: known.fileId });
  if (attributes.length > 0) {
    return {
      address,
      action: "update",
      reason: "attributes_differ",
      before,
      after: same,
      attributes,
      confirmed,
    };
  }
  return { address, action: "adopt", reason: "renamed", before, after: same, attributes, confirmed };
}

/** Of a large catalogue nearly everything is: no states are made of it. */
function isAsDesired(
  address: string,
  attachment: DesiredAttachment,
  known: RecordedAttachment,
  index: RecordedIndex,
): boolean {
  return (
    known.address === address &&
    !isOtherContent(attachment, known, index) &&
    hasAttributes(attachment.address.kind, index.knownAttributes(known), attachment.attributes)
  );
}

/** The recorded file may be the content's own upload even when its digest was not noted: it was named by its id then. */
function isOtherContent(
  attachment: DesiredAttachment,
  known: RecordedAttachment,
  index: RecordedIndex,
): boolean {
  if (attachment.content === undefined || attachment.content.sha256 === known.sha256) return false;
  return fileIdOf(attachment, index) !== known.fileId;
}

function desiredState(attachment: DesiredAttachment, index: RecordedIndex): AttachmentState {
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

/** What apply may make of an attachment in doubt: only what is still desired, with the content that was sent. */
function settleableState(
  { intent }: RecordedOperation,
  attachment: DesiredAttachment | undefined,
  index: RecordedIndex,
): AttachmentState | null {
  if (attachment === undefined || intent.fileId === undefined) return null;
  if (attachment.content?.sha256 !== intent.sha256) return null;
  return orderState({ ...desiredState(attachment, index), file_id: intent.fileId });
}

/** `address` names the change; the record's own one is told when it is another. */
function recordedState(known: RecordedAttachment, address: string): AttachmentState {
  return orderState({
    file_id: known.fileId,
    ...(known.address === address ? {} : { address: known.address }),
    ...(known.sha256 === undefined ? {} : { sha256: known.sha256 }),
    ...known.attributes,
  });
}

function removal(
  attachment: RecordedAttachment,
  { address, reason }: { readonly address: string; readonly reason: Reason },
): AttachmentChange {
  return {
    address,
    action: "delete",
    reason,
    before: recordedState(attachment, address),
    after: null,
    attributes: attributeNames[attachment.kind].filter((name) => attachment.attributes[name] !== undefined),
    confirmed: confirmedState(attachment.provenance),
  };
}

function sameFileTwice(address: string, attachment: DesiredAttachment, index: RecordedIndex): Diagnostic {
  const fileId = fileIdOf(attachment, index);
  const other = fileId === undefined ? undefined : index.ofFile(attachment, fileId);
  return {
    severity: "error",
    code: "same-file-twice",
    message: `${address} is file ${fileId}, which is attached already as ${other?.address}; a draft holds a file once`,
    hint: "Keep one of the two entries.",
    address,
    place: placeAt(attachment.file, attachment.position),
  };
}
