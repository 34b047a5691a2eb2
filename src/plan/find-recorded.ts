import type { DesiredAttachment } from "../model/desired.ts";
import type { RecordedAttachment } from "../model/recorded.ts";
import { type Addressed, fileIdOf } from "./attachment-states.ts";
import type { RecordedIndex } from "./recorded-index.ts";

/** See {@link namedElsewhere}. */
export type Named = () => ReadonlySet<RecordedAttachment>;

/**
 * The records that entries at other addresses name: by a file id, or by an upload that has ended. No entry replaces or removes
 * such a file, whatever the order of the addresses and whichever of the entries a run is narrowed to.
 */
export function namedElsewhere(
  inOrder: readonly Addressed[],
  index: RecordedIndex,
): ReadonlySet<RecordedAttachment> {
  const named = new Set<RecordedAttachment>();
  for (const { address, attachment } of inOrder) {
    const own = index.at(address);
    if (own !== undefined && !isOtherContent(attachment, own, index)) continue;
    const record = findByFile(attachment, index);
    if (record !== undefined) named.add(record);
  }
  return named;
}

/** What the records of a list are found with. */
export interface Search {
  readonly index: RecordedIndex;
  readonly wanted: () => ReadonlyMap<string, DesiredAttachment>;
  /** Recorded attachments that a desired one with a different address accounts for. */
  readonly claimed: ReadonlySet<RecordedAttachment>;
  readonly named: Named;
}

/** See {@link findRecorded}. */
export interface Found {
  readonly record?: RecordedAttachment | undefined;
  /** What has the address, and no entry names any more: `record` takes its place. */
  readonly former?: RecordedAttachment;
  /** Whether `record` was another entry's until now. A file that is put back was this one's, and a renamed one stays the same. */
  readonly isOthers?: boolean;
}

/**
 * The record of a desired attachment: its own, by address; else, or when that has another content, that of its file under
 * another address. A record that another entry accounts for is none.
 */
export function findRecorded(
  { address, attachment }: Addressed,
  own: RecordedAttachment | undefined,
  search: Search,
): Found {
  const { index, claimed, named } = search;
  if (own !== undefined && !isOtherContent(attachment, own, index) && !claimed.has(own))
    return { record: own };
  const elsewhere = findElsewhere(attachment, own, search);
  const from = elsewhere?.formerAddress;
  // What was its own is put back.
  const isOthers = from !== address;
  if (own === undefined || !isOtherContent(attachment, own, index))
    return { record: elsewhere, isOthers: isOthers && from !== undefined && isStillHeld(from, search) };
  if (named().has(own)) return { record: elsewhere, isOthers };
  if (elsewhere === undefined) return { record: own };
  return { record: elsewhere, former: own, isOthers };
}

/** Whether the entry that had this address has another file by now, and keeps it, be it under another name. */
function isStillHeld(address: string, { index, wanted }: Search): boolean {
  const newer = index.at(address);
  if (newer === undefined || wanted().has(address)) return true;
  const { draftId, kind, fileId, sha256 } = newer;
  return [...wanted().values()].some(
    (each) =>
      each.address.draftId === draftId &&
      each.address.kind === kind &&
      (fileIdOf(each, index) === fileId || (sha256 !== undefined && each.content?.sha256 === sha256)),
  );
}

/** By its file id, when a manifest now names the file another way; else by its content, when a local file was renamed. */
function findElsewhere(
  attachment: DesiredAttachment,
  own: RecordedAttachment | undefined,
  { index, wanted, claimed, named }: Search,
): RecordedAttachment | undefined {
  const sameFile = findByFile(attachment, index);
  if (sameFile !== undefined) return claimed.has(sameFile) ? undefined : sameFile;
  if (attachment.content === undefined) return undefined;
  // What was replaced and is still attached is put back by its own entry alone, and an entry that has a file takes over no
  // other one: it would take its values, too.
  const isFree = (other: RecordedAttachment) =>
    !wanted().has(other.address) &&
    !claimed.has(other) &&
    !named().has(other) &&
    other.replacedBy === own?.fileId;
  return index.ofContent(attachment).find(isFree);
}

function findByFile(attachment: DesiredAttachment, index: RecordedIndex): RecordedAttachment | undefined {
  const fileId = fileIdOf(attachment, index);
  return fileId === undefined ? undefined : index.ofFile(attachment, fileId);
}

/**
 * The file of an entry, as far as it is known: that of its record, unless its content changed; that of the record it takes
 * over; else that of its upload.
 */
export function knownFile(
  attachment: DesiredAttachment,
  {
    own,
    found,
    index,
  }: {
    readonly own: RecordedAttachment | undefined;
    readonly found: Found;
    readonly index: RecordedIndex;
  },
): number | undefined {
  if (found.record !== undefined && found.record !== own) return found.record.fileId;
  const isOwn = own !== undefined && !isOtherContent(attachment, own, index);
  return isOwn ? own.fileId : fileIdOf(attachment, index);
}

/** The recorded file may be the content's own upload even when its digest was not noted: it was named by its id then. */
export function isOtherContent(
  attachment: DesiredAttachment,
  known: RecordedAttachment,
  index: RecordedIndex,
): boolean {
  if (attachment.content === undefined || attachment.content.sha256 === known.sha256) return false;
  return fileIdOf(attachment, index) !== known.fileId;
}
