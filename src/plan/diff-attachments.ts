import { compareText, formatAddress, parseAddress } from "../model/address.ts";
import {
  type AttachmentChange,
  type Change,
  type InDoubtChange,
  orderState,
  type Reason,
} from "../model/change.ts";
import type { Desired, DesiredAttachment } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { lazily } from "../model/lazily.ts";
import { append } from "../model/lists.ts";
import {
  confirmedState,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
} from "../model/recorded.ts";
import { attributeNames, changedAttributes, fileResource, hasAttributes } from "../model/resource.ts";
import {
  type Addressed,
  desiredState,
  FilesOfList,
  fileIdOf,
  recordedState,
  sameFileTwice,
  settleableState,
  undeclaredState,
} from "./attachment-states.ts";
import { type Differences, makeUnmanagedTest, type UnmanagedTest } from "./differences.ts";
import { blockingDoubts, inDoubtChange } from "./doubts.ts";
import { indexRecorded, type RecordedIndex } from "./recorded-index.ts";

/** Product and promotional files: desired against recorded. */
export function diffAttachments(desired: Desired, recorded: Recorded): Differences {
  const index = indexRecorded(recorded);
  const isUnmanaged = makeUnmanagedTest(desired);
  const inOrder = addressed(desired);
  const doubts = atTheirEntries(blockingDoubts(recorded), inOrder, index);
  const wanted = lazily(() => new Map(inOrder.map(({ address, attachment }) => [address, attachment])));
  const changes: Change[] = [];
  const unchanged: string[] = [];
  const diagnostics: Diagnostic[] = [];
  /** Recorded attachments that a desired one with a different address accounts for. */
  const claimed = new Set<RecordedAttachment>();
  /** How many records a desired attachment accounts for, claimed or not. */
  let accounted = 0;
  for (const operation of doubts.values()) {
    if (operation.kind === "attach")
      changes.push(...diffDoubt(operation, { wanted: wanted(), index, isUnmanaged }));
  }
  const files = new FilesOfList();
  for (const { address, attachment } of inOrder) {
    const own = index.at(address);
    const isInDoubt = doubts.has(address);
    const found = isInDoubt ? undefined : findRecorded(attachment, own, { index, wanted, claimed });
    const fileId = knownFile(attachment, { own, found, index });
    const holder = files.take(attachment, fileId, address);
    if (holder !== undefined) {
      diagnostics.push(sameFileTwice(attachment, { address, ...holder }));
      changes.push(...earlierRemoval(own, holder.fileId, doubts));
      continue;
    }
    if (isInDoubt) continue;
    const change = compare(address, attachment, found, index);
    if (change === undefined) unchanged.push(address);
    else changes.push(change);
    if (found === undefined) continue;
    accounted += 1;
    if (found.record.address !== address) claimed.add(found.record);
    if (found.former === undefined) continue;
    claimed.add(found.former);
    const isHalfDone = found.record.replaced === true;
    changes.push(...formerRemoval(found.former, { wanted: wanted(), isHalfDone }));
  }
  const isLeft = ({ address }: RecordedAttachment) => !wanted().has(address) && !doubts.has(address);
  const all = accounted < recorded.attachments.length ? recorded.attachments : [];
  const left = all.filter((attachment) => !claimed.has(attachment) && isLeft(attachment));
  const declared = lazily(() => new Set(desired.drafts.map(({ draftId }) => draftId)));
  const isDeclared = (draftId: number) => declared().has(draftId);
  const [kept, removed] = [left.filter(isUnmanaged), left.filter((each) => !isUnmanaged(each))];
  changes.push(...kept.flatMap((attachment) => leftOutDoubt(attachment, index)));
  for (const attachment of removed) {
    const { address, draftId, replaced } = attachment;
    const isHalfDone = replaced === true && isDeclared(draftId);
    const reason = isHalfDone ? "content_changed" : "not_in_manifest";
    changes.push(removal(attachment, { address, reason, isHalfDone }));
  }
  return { changes, unchanged, unmanaged: kept.map(({ address }) => address), diagnostics };
}

/**
 * By address: an attachment in doubt whose file another entry names by now is of that entry, so that one change alone writes to
 * the file.
 */
function atTheirEntries(
  doubts: ReadonlyMap<string, RecordedOperation>,
  inOrder: readonly Addressed[],
  index: RecordedIndex,
): ReadonlyMap<string, RecordedOperation> {
  const fileOf = ({ kind, address, intent: { fileId } }: RecordedOperation): string | undefined => {
    const parsed = parseAddress(address);
    if (kind !== "attach" || fileId === undefined || parsed?.type !== "attachment") return undefined;
    return fileResource({ ...parsed, fileId });
  };
  if (![...doubts.values()].some((operation) => fileOf(operation) !== undefined)) return doubts;
  const entries = new Map<string, string[]>();
  for (const { address, attachment } of inOrder) {
    const fileId = fileIdOf(attachment, index);
    if (fileId !== undefined) append(entries, fileResource({ ...attachment.address, fileId }), address);
  }
  return new Map(
    [...doubts].map(([address, operation]) => {
      // Of several, the first one has the file.
      const [entry = address] = entries.get(fileOf(operation) ?? "") ?? [];
      return doubts.has(entry) ? [address, operation] : [entry, { ...operation, address: entry }];
    }),
  );
}

/** A doubt about a file that stays as it is, since its list is not managed. */
function leftOutDoubt(attachment: RecordedAttachment, index: RecordedIndex): readonly Change[] {
  const doubt = index.doubtOf(attachment);
  if (doubt === undefined) return [];
  const { address } = attachment;
  return [inDoubtChange({ ...doubt, address }, recordedState(attachment, address), "left_out")];
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

/**
 * The file of an entry, as far as it is known: that of its record, unless its content changed; that of the record it takes
 * over; else that of its upload.
 */
function knownFile(
  attachment: DesiredAttachment,
  {
    own,
    found,
    index,
  }: {
    readonly own: RecordedAttachment | undefined;
    readonly found: Found | undefined;
    readonly index: RecordedIndex;
  },
): number | undefined {
  if (found !== undefined && found.record !== own) return found.record.fileId;
  const isOwn = own !== undefined && !isOtherContent(attachment, own, index);
  return isOwn ? own.fileId : fileIdOf(attachment, index);
}

interface DoubtSearch {
  readonly wanted: ReadonlyMap<string, DesiredAttachment>;
  readonly index: RecordedIndex;
  readonly isUnmanaged: UnmanagedTest;
}

/** An attachment in doubt; and once it is settled, the file that it takes the place of. */
function diffDoubt(operation: RecordedOperation, search: DoubtSearch): readonly Change[] {
  const { wanted, index } = search;
  const after = settleableState(operation, wanted.get(operation.address), index);
  if (after === null) {
    const isReplaced = wanted.has(operation.address) || index.at(operation.address) !== undefined;
    const undeclared = isReplaced ? "replaced" : "removed";
    return [inDoubtChange(operation, ...undeclaredState(operation, undeclared, search.isUnmanaged))];
  }
  const settling = inDoubtChange(operation, after);
  const replaced = index.at(operation.address);
  if (replaced === undefined || replaced.fileId === operation.intent.fileId) return [settling];
  return [settling, ...formerRemoval(replaced, { wanted, isHalfDone: true })];
}

/** A file's record gives up the address when the new file's takes it. Left attached, it would be published too. */
function formerRemoval(
  former: RecordedAttachment,
  { wanted, isHalfDone }: { wanted: ReadonlyMap<string, DesiredAttachment>; isHalfDone: boolean },
): readonly Change[] {
  const address = fileResource(former);
  return wanted.has(address) ? [] : [removal(former, { address, reason: "content_changed", isHalfDone })];
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
 * The record of a desired attachment: its own, by address; else, or when that has another content, that of its file under
 * another address. A record that another entry accounts for is none.
 */
function findRecorded(
  attachment: DesiredAttachment,
  atAddress: RecordedAttachment | undefined,
  search: Search,
): Found | undefined {
  const { index, claimed } = search;
  const own = atAddress !== undefined && claimed.has(atAddress) ? undefined : atAddress;
  if (own !== undefined && !isOtherContent(attachment, own, index)) return { record: own };
  const elsewhere = findElsewhere(attachment, search);
  if (elsewhere === undefined) return own === undefined ? undefined : { record: own };
  return own === undefined ? { record: elsewhere } : { record: elsewhere, former: own };
}

/** By its file id, when a manifest now names the file another way; else by its content, when a local file was renamed. */
function findElsewhere(
  attachment: DesiredAttachment,
  { index, wanted, claimed }: Search,
): RecordedAttachment | undefined {
  const fileId = fileIdOf(attachment, index);
  const sameFile = fileId === undefined ? undefined : index.ofFile(attachment, fileId);
  if (sameFile !== undefined) return claimed.has(sameFile) ? undefined : sameFile;
  if (attachment.content === undefined) return undefined;
  return index.ofContent(attachment).find((other) => !wanted().has(other.address) && !claimed.has(other));
}

function compare(
  address: string,
  attachment: DesiredAttachment,
  found: Found | undefined,
  index: RecordedIndex,
): AttachmentChange | InDoubtChange | undefined {
  const { kind } = attachment.address;
  if (found === undefined) {
    const after = desiredState(attachment, index);
    const attributes = changedAttributes(kind, {}, attachment.attributes);
    return { address, action: "create", reason: "not_recorded", before: null, after, attributes };
  }
  const { record: known, former } = found;
  const isReplaced = isOtherContent(attachment, known, index);
  const replaced = isReplaced ? known : former;
  const wanted = replaced === undefined ? attachment : withCarried(attachment, replaced, index);
  const asDesired = isAsDesired(address, wanted, known, index);
  const doubt = isReplaced ? undefined : index.doubtOf(known);
  // Until it is settled, nothing later in the draft may rely on the file: it may be gone.
  if (doubt?.kind === "detach" || (doubt !== undefined && asDesired)) {
    return inDoubtChange(
      { ...doubt, address },
      orderState({ ...desiredState(wanted, index), file_id: known.fileId }),
    );
  }
  if (asDesired) return undefined;
  const after = desiredState(wanted, index);
  const attributes = changedAttributes(kind, index.knownAttributes(known), wanted.attributes);
  const before = recordedState(known, address);
  const confirmed = confirmedState(known.provenance);
  if (isReplaced) {
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

/** With the recorded value of every attribute that is not managed: a file that replaces another keeps them. */
function withCarried(
  attachment: DesiredAttachment,
  replaced: RecordedAttachment,
  index: RecordedIndex,
): DesiredAttachment {
  return { ...attachment, attributes: { ...index.knownAttributes(replaced), ...attachment.attributes } };
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
    // A file that was to be detached and is named again is recorded as such.
    known.replaced !== true &&
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

interface Removal {
  readonly address: string;
  readonly reason: Reason;
  /** Its replacement is attached, or in doubt. */
  readonly isHalfDone: boolean;
}

function removal(attachment: RecordedAttachment, { address, reason, isHalfDone }: Removal): AttachmentChange {
  return {
    address,
    action: "delete",
    reason,
    before: recordedState(attachment, address),
    after: null,
    attributes: attributeNames[attachment.kind].filter((name) => attachment.attributes[name] !== undefined),
    confirmed: confirmedState(attachment.provenance),
    ...(isHalfDone ? { completes_replace: true } : {}),
  };
}

/** Detaches the old file of an entry whose new file turned out to belong to another entry. */
function earlierRemoval(
  own: RecordedAttachment | undefined,
  fileId: number,
  doubts: ReadonlyMap<string, RecordedOperation>,
): readonly Change[] {
  if (own === undefined || own.fileId === fileId || doubts.has(own.address)) return [];
  return [removal(own, { address: own.address, reason: "content_changed", isHalfDone: false })];
}
