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
import {
  type Found,
  findRecorded,
  isOtherContent,
  knownFile,
  type Named,
  namedElsewhere,
} from "./find-recorded.ts";
import { indexRecorded, type RecordedIndex } from "./recorded-index.ts";

/** Product and promotional files: desired against recorded. */
export function diffAttachments(desired: Desired, recorded: Recorded): Differences {
  const index = indexRecorded(recorded);
  const isUnmanaged = makeUnmanagedTest(desired);
  const inOrder = addressed(desired);
  const doubts = atTheirEntries(blockingDoubts(recorded), inOrder, index);
  const wanted = lazily(() => new Map(inOrder.map(({ address, attachment }) => [address, attachment])));
  const named = lazily(() => namedElsewhere(inOrder, index));
  const changes: Change[] = [];
  const unchanged: string[] = [];
  const diagnostics: Diagnostic[] = [];
  /** Recorded attachments that a desired one with a different address accounts for. */
  const claimed = new Set<RecordedAttachment>();
  /** How many records a desired attachment accounts for, claimed or not. */
  let accounted = 0;
  for (const operation of doubts.values()) {
    if (operation.kind === "attach")
      changes.push(...diffDoubt(operation, { wanted: wanted(), index, isUnmanaged, named }));
  }
  const files = new FilesOfList();
  for (const { address, attachment } of inOrder) {
    const own = index.at(address);
    const isInDoubt = doubts.has(address);
    const found = isInDoubt ? {} : findRecorded(attachment, own, { index, wanted, claimed, named });
    const fileId = knownFile(attachment, { own, found, index });
    const holder = files.take(attachment, fileId, address);
    if (holder !== undefined) {
      diagnostics.push(sameFileTwice(attachment, { address, ...holder }));
      changes.push(...earlierRemoval(own, holder.fileId, { doubts, named }));
      continue;
    }
    if (isInDoubt) continue;
    const change = compare(address, attachment, found, index);
    if (change === undefined) unchanged.push(address);
    else changes.push(change);
    const { record, former } = found;
    if (record === undefined) continue;
    accounted += 1;
    if (record.address !== address) claimed.add(record);
    changes.push(...formerRemoval(former, { named, isHalfDone: false }));
  }
  const isLeft = ({ address }: RecordedAttachment) => !wanted().has(address) && !doubts.has(address);
  const all = accounted < recorded.attachments.length ? recorded.attachments : [];
  const left = all.filter((each) => !claimed.has(each) && isLeft(each) && !named().has(each));
  const declared = lazily(() => new Set(desired.drafts.map(({ draftId }) => draftId)));
  const isDeclared = (draftId: number) => declared().has(draftId);
  const [kept, removed] = [left.filter(isUnmanaged), left.filter((each) => !isUnmanaged(each))];
  changes.push(...kept.flatMap((attachment) => leftOutDoubt(attachment, index)));
  for (const attachment of removed) {
    const { address, draftId, replacedBy } = attachment;
    const isHalfDone = replacedBy !== undefined && isDeclared(draftId);
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
  // Nothing of the file is managed: an update is sent again, and sets nothing else.
  const attributes = doubt.kind === "update" ? (doubt.intent.attributes ?? {}) : attachment.attributes;
  const after = recordedState({ ...attachment, attributes }, address);
  return [inDoubtChange({ ...doubt, address }, after, "left_out")];
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

interface DoubtSearch {
  readonly wanted: ReadonlyMap<string, DesiredAttachment>;
  readonly index: RecordedIndex;
  readonly isUnmanaged: UnmanagedTest;
  readonly named: Named;
}

/** An attachment in doubt; and once it is settled, the file that it takes the place of. */
function diffDoubt(operation: RecordedOperation, search: DoubtSearch): readonly Change[] {
  const { wanted, index, named } = search;
  const after = settleableState(operation, wanted.get(operation.address), index);
  if (after === null) {
    const isReplaced = wanted.has(operation.address) || index.at(operation.address) !== undefined;
    const undeclared = isReplaced ? "replaced" : "removed";
    return [inDoubtChange(operation, ...undeclaredState(operation, undeclared, search.isUnmanaged))];
  }
  const settling = inDoubtChange(operation, after);
  const replaced = index.at(operation.address);
  if (replaced === undefined || replaced.fileId === operation.intent.fileId) return [settling];
  const isHalfDone = operation.intent.replaces === replaced.fileId;
  return [settling, ...formerRemoval(replaced, { named, isHalfDone })];
}

/** A file's record gives up the address when the new file's takes it. Left attached, it would be published too. */
function formerRemoval(
  former: RecordedAttachment | undefined,
  { named, isHalfDone }: { readonly named: Named; readonly isHalfDone: boolean },
): readonly Change[] {
  if (former === undefined || named().has(former)) return [];
  return [removal(former, { address: fileResource(former), reason: "content_changed", isHalfDone })];
}

function compare(
  address: string,
  attachment: DesiredAttachment,
  { record: known, former }: Found,
  index: RecordedIndex,
): AttachmentChange | InDoubtChange | undefined {
  const { kind } = attachment.address;
  const isReplaced = known !== undefined && isOtherContent(attachment, known, index);
  const replaced = isReplaced ? known : former;
  const wanted = replaced === undefined ? attachment : withCarried(attachment, replaced, index);
  if (known === undefined) {
    const after = desiredState(wanted, index);
    const attributes = changedAttributes(kind, {}, wanted.attributes);
    return { address, action: "create", reason: "not_recorded", before: null, after, attributes };
  }
  const asDesired = isAsDesired(address, wanted, known, index);
  const doubt = isReplaced ? undefined : index.doubtOf(known);
  if (asDesired && doubt === undefined) return undefined;
  const knownAttributes = index.knownAttributes(known);
  const attributes = changedAttributes(kind, knownAttributes, wanted.attributes);
  // Until it is settled, nothing later in the draft may rely on the file: it may be gone.
  if (doubt?.kind === "detach" || (doubt !== undefined && attributes.length === 0)) {
    return inDoubtChange(
      { ...doubt, address },
      orderState({ ...desiredState(wanted, index), file_id: known.fileId }),
    );
  }
  const after = desiredState(wanted, index);
  const before = recordedState({ ...known, attributes: knownAttributes }, address);
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
  return { ...attachment, attributes: { ...index.latestAttributes(replaced), ...attachment.attributes } };
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
    known.replacedBy === undefined &&
    !isOtherContent(attachment, known, index) &&
    hasAttributes(attachment.address.kind, index.knownAttributes(known), attachment.attributes)
  );
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
  { doubts, named }: { readonly doubts: ReadonlyMap<string, RecordedOperation>; readonly named: Named },
): readonly Change[] {
  if (own === undefined || own.fileId === fileId || doubts.has(own.address) || named().has(own)) return [];
  return [removal(own, { address: own.address, reason: "content_changed", isHalfDone: false })];
}
