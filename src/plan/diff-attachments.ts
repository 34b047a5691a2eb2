import { targetAt } from "../model/address.ts";
import {
  type Change,
  type InDoubtChange,
  isOfAttached,
  isProtectChange,
  orderState,
} from "../model/change.ts";
import { attachmentsByAddress, type Desired } from "../model/desired.ts";
import {
  fileResourceOf,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
  targetOf,
} from "../model/recorded.ts";
import {
  type Attributes,
  allAttributeNames,
  clearedAttributes,
  fileResource,
  pickNamed,
  withoutEmpty,
} from "../model/resource.ts";
import { attributesSentBy, isAttachRefusal, repeatableDoubts } from "../model/unsettled.ts";
import { compareAttachments } from "./compare-attachments.ts";
import { type Differences, makeUnmanagedTest } from "./differences.ts";
import { assumeAttached, filesInDoubt, inDoubtChange, sentState } from "./doubts.ts";

/**
 * Product and promotional files: desired against recorded. A file in doubt is compared as if it were attached with what was
 * sent. The values of its entry are set by what settles it; everything else that depends on it waits for the next plan
 * (`excludeUnsettled`).
 */
export function diffAttachments(desired: Desired, recorded: Recorded): Differences {
  const doubts = filesInDoubt(recorded);
  if (doubts.size === 0) return compareAttachments(desired, recorded);
  const isUnmanaged = makeUnmanagedTest(desired);
  // Nothing is sent about a file that is not managed, so a person settles what is in doubt of it.
  const checked = new Map(
    [...doubts].filter(([, operation]) => {
      const target = targetOf(operation);
      return target === undefined || !isUnmanaged(target);
    }),
  );
  const all = compareAttachments(desired, assumeAttached(recorded, checked));
  const asSent = new Set(all.unchanged);
  const changeAt = new Map(all.changes.map((change) => [change.address, change]));
  const entries = attachmentsByAddress(desired);
  const updates = repeatableDoubts(recorded);
  const records = new Map(recorded.attachments.map((record) => [fileResource(record), record]));
  const former = recorded.attachments.filter((record) => doubts.has(record.address));
  const formerAt = new Map(former.map((record) => [record.address, record]));
  const settled = new Set<Change>();
  const settling = [...doubts].map(([address, operation]): InDoubtChange => {
    const shown = { ...operation, address };
    const file = fileResourceOf(operation) ?? address;
    // A person settles it by its path: an entry's name may stand for another file in time.
    if (!checked.has(address)) return inDoubtChange({ ...shown, address: file });
    const entry = entries.get(address);
    const change = changeAt.get(address);
    const isUpdate = change?.action === "update" && !isProtectChange(change);
    const isOwnUpdate = isUpdate && change.before.file_id === operation.intent.fileId;
    // The attachment of a file that is recorded came before what was confirmed of it.
    const kept =
      recorded.keptValues.get(address) ??
      records.get(file)?.attributes ??
      carried(operation, formerAt.get(address));
    const sent = sentValues(operation, updates.get(file));
    // What was sent and no entry manages any more was withdrawn.
    const others = { ...clearedAttributes(sent), ...(kept && withoutEmpty(kept)) };
    if (entry === undefined || !(isOwnUpdate || asSent.has(address))) {
      const names = Object.keys(sent);
      const managed = pickNamed(entry?.attributes ?? {}, names);
      // What set nothing has nothing to take back, and no entry is to keep anything: the file may be another's.
      const isOver = entry === undefined && names.length === 0;
      const values = isOver ? {} : { ...others, ...managed };
      return { ...settlingChange(shown, values), check_only: true };
    }
    if (isOwnUpdate) settled.add(change);
    return settlingChange(shown, { ...others, ...entry.attributes });
  });
  const others = all.changes
    .filter((change) => !settled.has(change))
    .map(atItsFile(doubts))
    .map(fromItsEntry(former));
  return {
    ...all,
    changes: [...settling, ...others],
    unchanged: all.unchanged.filter((address) => !doubts.has(address)),
    unmanaged: all.unmanaged.filter((address) => !doubts.has(address)),
  };
}

/**
 * What the file may have of this call and of those that were sent later. A refused attachment has set nothing, unless a PATCH with
 * its values was lost after that.
 */
function sentValues(
  { kind, status, intent }: RecordedOperation,
  later: readonly RecordedOperation[] = [],
): Attributes {
  const wasRefused = kind === "attach" && intent.refusedWith === undefined && isAttachRefusal(status);
  return { ...(wasRefused ? {} : intent.attributes), ...attributesSentBy(later) };
}

/** Setting them also records them: a service need not answer with what it has. */
function settlingChange(operation: RecordedOperation, attributes: Attributes): InDoubtChange {
  const names = allAttributeNames.filter((name) => attributes[name] !== undefined);
  return inDoubtChange(operation, sentState(operation, attributes), names);
}

/** What the file takes over of the one that its entry has until then. */
function carried(
  { intent }: RecordedOperation,
  former: RecordedAttachment | undefined,
): Attributes | undefined {
  return former?.fileId === intent.fileId ? undefined : former?.attributes;
}

/** Another file in doubt whose entry has an attachment in doubt is shown at its path: a plan has one change for an address. */
function atItsFile(doubts: ReadonlyMap<string, RecordedOperation>): (change: Change) => Change {
  return (change) => {
    if (change.action !== "in_doubt" || !doubts.has(change.address)) return change;
    const fileId = change.after?.file_id;
    return fileId === undefined
      ? change
      : { ...change, address: fileResource(targetAt(change.address, fileId)) };
  };
}

/** The file that an entry had before its attachment in doubt is still recorded as that entry's. */
function fromItsEntry(former: readonly RecordedAttachment[]): (change: Change) => Change {
  const addresses = new Map(former.map((record) => [fileResource(record), record.address]));
  return (change) => {
    if (!isOfAttached(change) && change.action !== "in_doubt") return change;
    const { file_id: fileId } = change.after ?? {};
    const address = fileId && addresses.get(fileResource(targetAt(change.address, fileId)));
    if (!address || address === change.address) return change;
    const taken = { ...change, takes_over: true } as const;
    return isOfAttached(taken) ? { ...taken, before: orderState({ ...taken.before, address }) } : taken;
  };
}
