import { parseAddress } from "./address.ts";
import type { LedgerEffect } from "./effect.ts";
import { append } from "./lists.ts";
import type {
  Confirmation,
  Provenance,
  Recorded,
  RecordedAttachment,
  RecordedOperation,
} from "./recorded.ts";
import { type Attributes, fileResource, omitAttributes } from "./resource.ts";

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

/** How a file is known once a service returned these attributes: what a person said stays that until all of it was read. */
export function provenanceOnceRead(
  { attributes, provenance }: RecordedAttachment,
  returned: Attributes,
  at: number,
): Provenance {
  const isPart = Object.keys(attributes).some((name) => !Object.hasOwn(returned, name));
  return provenance.by === "operator" && isPart ? provenance : { by: "probe", at };
}

/** The attributes that operations have sent; of several values, the last. */
export function attributesSentBy(operations: readonly Pick<RecordedOperation, "intent">[]): Attributes {
  return Object.assign({}, ...operations.map(({ intent }) => intent.attributes));
}

/**
 * What the ledger takes of an update that turned out to have taken effect, and that gave the file of `record` to another entry:
 * nothing, if the file or that entry has moved on since. `holder` is the record at the entry's address.
 */
export function takeoverEffects(
  { address, startedAt, intent: { formerAddress, replaces } }: RecordedOperation,
  record: RecordedAttachment,
  holder: RecordedAttachment | undefined,
): readonly LedgerEffect[] {
  const { replacedBy, formerAddress: last, ...known } = record;
  const isThere = replacedBy === undefined && (known.address === formerAddress || last === formerAddress);
  const isLater = (by: Confirmation, at: number) => (by === "post" || by === "patch") && at > startedAt;
  const hasAnother = holder !== undefined && isLater(holder.provenance.by, holder.provenance.at);
  if (formerAddress === undefined || known.address === address || !isThere || hasAnother) return [];
  const attachment = { ...known, address };
  return [{ type: "attached", attachment, ...(replaces === undefined ? {} : { replaces }) }];
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

/** With these statuses a service says, or a proxy may say, that an attachment attached nothing. */
const attachRefusals: ReadonlySet<number> = new Set([409, 422, 425, 429]);

/** Whether a call to attach a file that ended with this status attached nothing itself. */
export function isAttachRefusal(status: number | undefined): boolean {
  return status !== undefined && attachRefusals.has(status);
}
