import { compareText, formatAddress } from "../model/address.ts";
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
import {
  confirmedState,
  isLeftOver,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
} from "../model/recorded.ts";
import {
  type Attributes,
  changedAttributes,
  clearedAttributes,
  fileResource,
  hasAttributes,
  withoutEmpty,
} from "../model/resource.ts";
import {
  type Addressed,
  desiredState,
  FilesOfList,
  recordedState,
  sameFileTwice,
} from "./attachment-states.ts";
import { type Differences, makeUnmanagedTest } from "./differences.ts";
import { inDoubtChange, inDoubtState } from "./doubts.ts";
import {
  type Found,
  findRecorded,
  isOtherContent,
  knownFile,
  namedElsewhere,
  type Search,
} from "./find-recorded.ts";
import { indexRecorded, type RecordedIndex } from "./recorded-index.ts";

/** Product and promotional files: desired against recorded. A plan shows them with what is in doubt (`diffAttachments`). */
export function compareAttachments(desired: Desired, recorded: Recorded): Required<Differences> {
  const index = indexRecorded(recorded);
  const isUnmanaged = makeUnmanagedTest(desired);
  const inOrder = addressed(desired);
  const wanted = lazily(() => new Map(inOrder.map(({ address, attachment }) => [address, attachment])));
  const named = lazily(() => namedElsewhere(inOrder, index));
  const changes: Change[] = [];
  const unchanged: string[] = [];
  const diagnostics: Diagnostic[] = [];
  /** Recorded attachments that a desired one with a different address accounts for. */
  const claimed = new Set<RecordedAttachment>();
  /** How many records a desired attachment accounts for, claimed or not. */
  let accounted = 0;
  const files = new FilesOfList();
  for (const entry of inOrder) {
    const { address, attachment } = entry;
    const own = index.at(address);
    const found = findRecorded(entry, own, { index, wanted, claimed, named });
    const fileId = knownFile(attachment, { own, found, index });
    const holder = files.take(attachment, fileId, address);
    if (holder !== undefined) {
      diagnostics.push(sameFileTwice(attachment, { address, ...holder }));
      if (own !== undefined && own.fileId !== holder.fileId && !named().has(own))
        changes.push(formerRemoval(own, address, index));
      continue;
    }
    const { record, former } = found;
    const change = compare(address, attachment, { ...found, own }, { index, wanted });
    if (change === undefined) unchanged.push(address);
    else changes.push(change);
    if (record === undefined) continue;
    accounted += 1;
    if (record.address !== address) claimed.add(record);
    if (former !== undefined) changes.push(formerRemoval(former, fileResource(former), index));
  }
  const all = accounted < recorded.attachments.length ? recorded.attachments : [];
  const left = all.filter((each) => !claimed.has(each) && !wanted().has(each.address) && !named().has(each));
  const declared = lazily(() => new Set(desired.drafts.map(({ draftId }) => draftId)));
  const isDeclared = (draftId: number) => declared().has(draftId);
  // The rest of a replacement is made also where the list is left out by now: both files would be published.
  const isKept = (each: RecordedAttachment) =>
    isUnmanaged(each) && (each.replacedBy === undefined || index.doubtOf(each) !== undefined);
  const [kept, removed] = [left.filter(isKept), left.filter((each) => !isKept(each))];
  const unmanaged: string[] = [];
  for (const attachment of kept) {
    const { address } = attachment;
    const doubt = index.doubtOf(attachment);
    // Nothing is sent about a file that is not managed, so a person settles what is in doubt of it.
    if (doubt === undefined) unmanaged.push(address);
    else changes.push(inDoubtChange({ ...doubt, address }));
  }
  for (const attachment of removed) {
    const { address, draftId, replacedBy } = attachment;
    const isHalfDone = replacedBy !== undefined && isDeclared(draftId);
    const reason = isHalfDone ? "content_changed" : "not_in_manifest";
    changes.push(removal(attachment, { address, reason, isHalfDone }, index));
  }
  return { changes, unchanged, unmanaged, diagnostics };
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

/** Detaches a file whose entry has another one by now, and which no further entry names: left attached, it would be published too. */
function formerRemoval(former: RecordedAttachment, address: string, index: RecordedIndex): AttachmentChange {
  return removal(former, { address, reason: "content_changed", isHalfDone: false }, index);
}

function compare(
  address: string,
  attachment: DesiredAttachment,
  { record: known, own, isOthers }: Found & { readonly own: RecordedAttachment | undefined },
  { index, wanted: entries }: Pick<Search, "index" | "wanted">,
): AttachmentChange | InDoubtChange | undefined {
  const { kind } = attachment.address;
  const kept = index.keptFor(address);
  if (known === undefined) return creation(address, attachment, kept ?? own?.attributes, index);
  const isReplaced = isOtherContent(attachment, known, index);
  // An entry that stays, and is to get a different file, keeps its values until then.
  const other = known.address === address ? undefined : entries().get(known.address);
  const takesOver = other !== undefined && isOtherContent(other, known, index);
  const isOfOther = isOthers || takesOver || (kept !== undefined && own === undefined);
  const others =
    isOfOther && attachment.address.ref.by !== "file_id" ? index.possibleAttributes(known) : undefined;
  const desired = isReplaced
    ? withCarried(attachment, withoutEmpty(kept ?? known.attributes))
    : withCarried(attachment, kept ?? (own === known ? undefined : own?.attributes), others);
  // What settles an update in doubt, and the first call after a person's word, also set what no entry manages any more.
  const open = isReplaced ? undefined : index.openValues(known);
  const wanted =
    open === undefined ? desired : { ...desired, attributes: { ...open, ...desired.attributes } };
  const doubt = index.doubtOf(known);
  if (isAsDesired(address, wanted, known, index) && doubt === undefined) return undefined;
  const knownAttributes = index.knownAttributes(known);
  const attributes = changedAttributes(kind, knownAttributes, wanted.attributes);
  // Until it is settled, nothing later in the draft may rely on the file: it may be gone.
  const isSet = hasAttributes(kind, knownAttributes, desired.attributes);
  if (!isReplaced && doubt !== undefined && (doubt.kind === "detach" || isSet)) {
    const after = orderState({ ...desiredState(wanted, index), file_id: known.fileId });
    const names = changedAttributes(kind, {}, wanted.attributes);
    return { ...inDoubtChange({ ...doubt, address }, after, names), ...takeoverOf(takesOver) };
  }
  const after = desiredState(wanted, index);
  const before = recordedState({ ...known, attributes: knownAttributes }, address);
  const basis = { attributes, confirmed: confirmedState(known.provenance), ...doubtOf(doubt) };
  if (isReplaced) return { address, action: "replace", reason: "content_changed", before, after, ...basis };
  const same = orderState({ ...after, file_id: known.fileId });
  const rest = { ...basis, ...takeoverOf(takesOver) };
  return attributes.length > 0
    ? { address, action: "update", reason: "attributes_differ", before, after: same, ...rest }
    : { address, action: "adopt", reason: "renamed", before, after: same, ...rest };
}

function takeoverOf(takesOver: boolean): { readonly takes_over?: true } {
  return takesOver ? { takes_over: true } : {};
}

/** `before`: what the entry had with a file that another one takes. */
function creation(
  address: string,
  attachment: DesiredAttachment,
  before: Attributes | undefined,
  index: RecordedIndex,
): AttachmentChange {
  const made = withCarried(attachment, withoutEmpty(before ?? {}));
  const after = desiredState(made, index);
  const attributes = changedAttributes(attachment.address.kind, {}, made.attributes);
  const hadFile = before === undefined ? {} : ({ had_file: true } as const);
  return { address, action: "create", reason: "not_recorded", before: null, after, attributes, ...hadFile };
}

function doubtOf(operation: RecordedOperation | undefined): Pick<Change, "doubt"> {
  return operation === undefined ? {} : { doubt: inDoubtState(operation) };
}

/**
 * What is not managed stays with an entry when it gets a different file. `before` is what the entry had, `others` what the file
 * may have from a different entry: that is cleared.
 */
function withCarried(
  attachment: DesiredAttachment,
  before: Attributes | undefined,
  others?: Attributes,
): DesiredAttachment {
  // Of a large catalogue nearly everything stays as it is.
  if (before === undefined && others === undefined) return attachment;
  return {
    ...attachment,
    attributes: { ...clearedAttributes(others ?? {}), ...before, ...attachment.attributes },
  };
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
    // A file that was to be detached, or that left another entry, and is named again is recorded as such.
    !isLeftOver(known) &&
    // So is an entry that did not lose its file in the end.
    index.keptFor(address) === undefined &&
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

function removal(
  attachment: RecordedAttachment,
  { address, reason, isHalfDone }: Removal,
  index: RecordedIndex,
): AttachmentChange {
  const known = { ...attachment, attributes: index.knownAttributes(attachment) };
  return {
    address,
    action: "delete",
    reason,
    before: recordedState(known, address),
    after: null,
    attributes: changedAttributes(known.kind, {}, known.attributes),
    confirmed: confirmedState(attachment.provenance),
    ...doubtOf(index.doubtOf(attachment)),
    ...(isHalfDone ? { completes_replace: true } : {}),
  };
}
