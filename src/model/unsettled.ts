import { parseAddress } from "./address.ts";
import type { LedgerEffect } from "./effect.ts";
import { append } from "./lists.ts";
import {
  type Provenance,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
  targetOf,
} from "./recorded.ts";
import {
  type Attributes,
  changedAttributes,
  clearedAttributes,
  type FileKind,
  type FileTarget,
  fileResource,
  mergeAttributes,
  omitAttributes,
  pickNamed,
} from "./resource.ts";

/** The updates and detaches in doubt by their file ({@link fileResource}), in the order they were sent. */
export function repeatableDoubts({
  inDoubt,
}: Pick<Recorded, "inDoubt">): ReadonlyMap<string, readonly RecordedOperation[]> {
  const byFile = new Map<string, RecordedOperation[]>();
  for (const operation of inDoubt) {
    const { fileId } = operation.intent;
    const address = parseAddress(operation.address);
    if (operation.kind !== "update" && operation.kind !== "detach") continue;
    if (fileId === undefined || address?.type !== "attachment") continue;
    append(byFile, fileResource({ draftId: address.draftId, kind: address.kind, fileId }), operation);
  }
  for (const operations of byFile.values()) operations.sort((a, b) => a.startedAt - b.startedAt);
  return byFile;
}

/**
 * The attributes that are known. An unsettled update may have set those it named; an unsettled detachment may have taken the file
 * away, after which nothing about it is known. Nor is what a person said, until a call has set or read it.
 */
export function withoutDoubtful(
  { attributes, provenance }: RecordedAttachment,
  doubts: readonly RecordedOperation[] = [],
): Attributes {
  if (provenance.by === "operator") return {};
  if (doubts.length === 0) return attributes;
  if (doubts.some(({ kind }) => kind === "detach")) return {};
  return omitAttributes(attributes, attributesSetBy(doubts));
}

/**
 * What has to be set so that a file is known: what an update in doubt may have changed, and what a person has said. Each has the
 * value that was confirmed last, or none: what was sent was withdrawn. Absent where nothing is open.
 */
export function openValues(
  record: RecordedAttachment,
  doubts: readonly RecordedOperation[] = [],
): Attributes | undefined {
  // A detach in doubt has changed no value of a file that is still attached.
  const updates = doubts.filter(({ kind }) => kind === "update");
  if (record.provenance.by !== "operator" && updates.length === 0) return undefined;
  const certain = new Set(Object.keys(withoutDoubtful(record, updates)));
  return omitAttributes(
    { ...clearedAttributes(possibleValues(record, updates)), ...record.attributes },
    certain,
  );
}

/** What a file may have: what was confirmed, and what unsettled calls have sent. */
export function possibleValues(
  { attributes }: RecordedAttachment,
  doubts: readonly RecordedOperation[] = [],
): Attributes {
  return { ...attributes, ...attributesSentBy(doubts) };
}

/** A file once these attributes of it were read: what a person said stays that until all of it was read. */
export function onceRead(
  kind: FileKind,
  { attributes, provenance }: Pick<RecordedAttachment, "attributes" | "provenance">,
  { returned, read }: { readonly returned: Attributes; readonly read: Provenance },
): Pick<RecordedAttachment, "attributes" | "provenance"> {
  const isPart = Object.keys(attributes).some((name) => !Object.hasOwn(returned, name));
  return {
    attributes: mergeAttributes(kind, attributes, returned),
    provenance: provenance.by === "operator" && isPart ? provenance : read,
  };
}

/** The attributes that operations have sent; of several values, the last. */
export function attributesSentBy(operations: readonly Pick<RecordedOperation, "intent">[]): Attributes {
  return Object.assign({}, ...operations.map(({ intent }) => intent.attributes));
}

/**
 * How a file is recorded, with the values `known` by now, once it is known how its updates in doubt ended. `last` is the latest
 * that took effect: its entry has the file, with no other values, unless the file or the entry has another by now. `attachments`
 * are all recorded ones.
 */
export function effectsOfUpdates(
  record: RecordedAttachment,
  known: Pick<RecordedAttachment, "attributes" | "provenance">,
  last: RecordedOperation | undefined,
  attachments: readonly RecordedAttachment[],
): readonly LedgerEffect[] {
  const unchanged: LedgerEffect = { type: "rerecorded", attachment: { ...record, ...known } };
  if (last === undefined || record.replacedBy !== undefined) return [unchanged];
  const { address, startedAt, intent } = last;
  const released: LedgerEffect = { type: "values_forgotten", address };
  if (record.address === address) return [unchanged, released];
  const { formerAddress, ...rest } = record;
  const isThere =
    intent.formerAddress !== undefined && [rest.address, formerAddress].includes(intent.formerAddress);
  const hasAnother = attachments.some(
    ({ address: of, provenance: { by, at } }) =>
      of === address && (by === "post" || by === "patch") && at > startedAt,
  );
  if (!isThere || hasAnother) return [unchanged];
  const { replaces } = intent;
  const attachment = { ...rest, ...known, address };
  return [{ type: "attached", attachment, ...(replaces === undefined ? {} : { replaces }) }, released];
}

/**
 * How a file is recorded once it is known that a call in doubt attached it. Where it has the values that were sent, no others are
 * kept for its entry any more.
 */
export function effectsOfAttachment(
  { address, intent: { sha256, replaces } }: RecordedOperation,
  file: FileTarget & Pick<RecordedAttachment, "attributes" | "provenance">,
  hasSentValues: boolean,
): readonly LedgerEffect[] {
  const attachment = { ...file, address, ...(sha256 === undefined ? {} : { sha256 }) };
  return [
    { type: "attached", attachment, ...(replaces === undefined ? {} : { replaces }) },
    ...(hasSentValues ? [{ type: "values_forgotten", address } as const] : []),
  ];
}

/**
 * The values of a file once it is known that it is attached, whichever of the calls in doubt about it took effect: those that it
 * was attached with, or that are recorded. An attribute that a call has sent otherwise has the value confirmed before, or none.
 */
export function attributesOnceAttached(
  operations: readonly RecordedOperation[],
  {
    record,
    keptValues,
    attachments,
  }: { readonly record: RecordedAttachment | undefined } & Pick<Recorded, "attachments" | "keptValues">,
): Attributes {
  // The attachment of a file that is recorded came before what was confirmed of it.
  const sending = operations.filter(
    (each) => isUpdate(each) || (record !== undefined && each.kind === "attach"),
  );
  const sent = attributesSentBy(sending);
  if (record !== undefined) {
    const { attributes } = record;
    return Object.keys(sent).length === 0 ? attributes : { ...attributes, ...confirmedFor(sent, attributes) };
  }
  const attach = operations.find(({ kind }) => kind === "attach");
  if (attach === undefined) return clearedAttributes(sent);
  const { address, intent } = attach;
  const own = isOfAnother(attach) ? {} : (intent.attributes ?? {});
  const { kind } = targetOf(attach) ?? {};
  const changed = sending.flatMap((each) =>
    kind === undefined ? [] : changedAttributes(kind, own, each.intent.attributes ?? {}),
  );
  const former = attachments.find((each) => each.address === address && each.fileId !== intent.fileId);
  const before = keptValues.get(address) ?? former?.attributes ?? {};
  return { ...own, ...confirmedFor(pickNamed(sent, changed), before) };
}

/** Whether a file, if it is attached, was attached by another call than this one, and has the values of that. */
export function isOfAnother({ intent: { refusedWith }, status }: RecordedOperation): boolean {
  return isAttachRefusal(refusedWith ?? status);
}

/** So is the PATCH that adopts a file whose attachment was refused. */
function isUpdate({ kind, intent }: RecordedOperation): boolean {
  return kind === "update" || intent.refusedWith !== undefined;
}

/** In place of what lost updates have sent, what was confirmed before: nothing where there was none. */
function confirmedFor(sent: Attributes, before: Attributes): Attributes {
  return { ...clearedAttributes(sent), ...pickNamed(before, Object.keys(sent)) };
}

/**
 * Where a file belongs of which the ledger has nothing but a call: it was restored from before. Its entry may have another file by
 * now.
 */
export function unrecordedFile<Target extends FileTarget>(
  target: Target,
  { address }: Pick<RecordedOperation, "address">,
  attachments: Recorded["attachments"],
): Target & Pick<RecordedAttachment, "address"> {
  const isTaken = attachments.some((each) => each.address === address);
  return { ...target, address: isTaken ? fileResource(target) : address };
}

/** The names of the attributes that operations set. */
export function attributesSetBy(
  operations: readonly Pick<RecordedOperation, "intent">[],
): ReadonlySet<string> {
  return new Set(Object.keys(attributesSentBy(operations)));
}

/**
 * How long the latest of these calls may still take effect, milliseconds; 0 when none may. A call that a clock dated ahead of
 * `now` counts as of now.
 */
export function leftToSettle(
  operations: readonly Pick<RecordedOperation, "startedAt" | "finishedAt">[],
  { now, settleDelayMs }: { readonly now: number; readonly settleDelayMs: number },
): number {
  const left = operations.map(
    ({ startedAt, finishedAt = startedAt }) => Math.min(finishedAt, now) + settleDelayMs - now,
  );
  return Math.max(0, ...left);
}

/** With these statuses a service reports, or a proxy may report, that an attachment attached nothing. */
const attachRefusals: ReadonlySet<number> = new Set([409, 422, 425, 429]);

/** Whether a call to attach a file that ended with this status attached nothing itself. */
export function isAttachRefusal(status: number | undefined): boolean {
  return status !== undefined && attachRefusals.has(status);
}
