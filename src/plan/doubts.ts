import {
  type AttachmentState,
  type DuplicateState,
  type InDoubtChange,
  type InDoubtState,
  orderState,
} from "../model/change.ts";
import { lazily } from "../model/lazily.ts";
import { append } from "../model/lists.ts";
import {
  fileResourceOf,
  makesProduct,
  type OperationIntent,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
  targetOf,
} from "../model/recorded.ts";
import { type Attributes, fileResource } from "../model/resource.ts";
import { isoTime } from "../model/time.ts";

/**
 * The operations in doubt by the address at which a plan shows them while no entry has another name, the one that it shows
 * first: blocking ones before detaches before others, of each the latest. All operations about one file are together, at the
 * address of its record if it has one. Of several files at one address, the latest has it; any other one is shown at its path.
 */
export function doubtsByAddress({
  inDoubt,
  attachments,
}: Recorded): ReadonlyMap<string, readonly RecordedOperation[]> {
  const doubts = new Map<string, RecordedOperation[]>();
  if (inDoubt.length === 0) return doubts;
  const recordedAt = new Map(attachments.map((record) => [fileResource(record), record.address]));
  const others = new Set(recordedAt.values());
  const addresses = new Map<string, string>();
  for (const operation of shownFirst(inDoubt)) {
    const file = fileResourceOf(operation);
    const recorded = isBlocking(operation) ? operation.address : recordedAt.get(file ?? "");
    const own = recorded ?? operation.address;
    const isTaken = file !== undefined && (doubts.has(own) || (recorded === undefined && others.has(own)));
    const address = addresses.get(file ?? "") ?? (isTaken ? file : own);
    if (file !== undefined) addresses.set(file, address);
    append(doubts, address, { ...operation, address });
  }
  return doubts;
}

/**
 * The operations in doubt by what a person settles: a file's path, or else the address. An entry's name is none: in time it
 * names other files, and a command that is run twice would settle another one. Of several that may each have made a product, as
 * a restored ledger may have, each is settled by its id.
 */
export function doubtsToSettle({ inDoubt }: Recorded): ReadonlyMap<string, readonly RecordedOperation[]> {
  const doubts = new Map<string, RecordedOperation[]>();
  for (const operation of shownFirst(inDoubt))
    append(doubts, fileResourceOf(operation) ?? operation.address, operation);
  return new Map(
    [...doubts].flatMap(([name, operations]): [string, readonly RecordedOperation[]][] =>
      operations.length > 1 && operations.every(({ kind }) => makesProduct(kind))
        ? operations.map((operation) => [operation.id, [operation]])
        : [[name, operations]],
    ),
  );
}

function shownFirst(inDoubt: readonly RecordedOperation[]): readonly RecordedOperation[] {
  const rank = (operation: RecordedOperation) =>
    isBlocking(operation) ? 0 : operation.kind === "detach" ? 1 : 2;
  return [...inDoubt].sort((a, b) => rank(a) - rank(b) || b.startedAt - a.startedAt);
}

/**
 * The operations in doubt that block their address: calls that must not be sent a second time. The others may be sent again
 * (docs/operations/reliability.md, P4): an update or a detach is planned again or settled, an upload at worst leaves an unused
 * file.
 */
export function blockingDoubts(recorded: Recorded): ReadonlyMap<string, RecordedOperation> {
  const latest = [...doubtsByAddress(recorded)].flatMap(([address, [first]]) =>
    first !== undefined && isBlocking(first) ? [[address, first] as const] : [],
  );
  return new Map(latest);
}

/**
 * The files of which it is in doubt whether they are attached, by the address at which a plan shows them. A call about a file
 * that is not recorded is one of them: a ledger that was restored from before may lack the file.
 */
export function filesInDoubt(recorded: Recorded): ReadonlyMap<string, RecordedOperation> {
  const known = lazily(() => new Set(recorded.attachments.map(fileResource)));
  const files = new Map<string, RecordedOperation>();
  for (const [address, [first]] of doubtsByAddress(recorded)) {
    const file = first && fileResourceOf(first);
    if (first === undefined || file === undefined) continue;
    if (first.kind === "attach" || !known().has(file)) files.set(address, first);
  }
  return files;
}

/** Whether a duplicate that was made so, or may have been, is of the same product, or of the product of the same draft. */
export function isCopyOf(
  { draftId, productId }: Pick<OperationIntent, "draftId" | "productId">,
  of: DuplicateState,
): boolean {
  const { product_id, draft_id } = of;
  return (
    (draft_id !== undefined && draftId === draft_id) || (product_id !== undefined && productId === product_id)
  );
}

/** The duplicates in doubt that may have made such a copy. */
export function doubtsOfCopy(
  copy: DuplicateState,
  inDoubt: readonly RecordedOperation[],
): readonly RecordedOperation[] {
  return inDoubt.filter((doubt) => doubt.kind === "duplicate" && isCopyOf(doubt.intent, copy));
}

/** The drafts whose publish is in doubt: which product is in force is not known. */
export function draftsInDoubt({ inDoubt }: Recorded): ReadonlySet<number> {
  const publishes = inDoubt.filter(({ kind }) => kind === "publish");
  return new Set(publishes.flatMap(({ intent: { draftId } }) => draftId ?? []));
}

/** Whether an operation in doubt must not be sent again. */
export function isBlocking({ kind }: RecordedOperation): boolean {
  return kind === "attach" || makesProduct(kind);
}

/** What is recorded if each of these files in doubt, by their addresses, is attached with what was sent. */
export function assumeAttached(recorded: Recorded, doubts: ReadonlyMap<string, RecordedOperation>): Recorded {
  const assumed = new Map<string, RecordedAttachment>();
  for (const [address, operation] of doubts) {
    const target = targetOf(operation);
    if (target === undefined) continue;
    const { attributes = {}, sha256 } = operation.intent;
    const provenance = { by: "post", at: operation.startedAt } as const;
    const digest = sha256 === undefined ? {} : { sha256 };
    assumed.set(fileResource(target), { ...target, address, attributes, ...digest, provenance });
  }
  const others = recorded.attachments
    .filter((record) => !assumed.has(fileResource(record)))
    .map((record) => {
      const { fileId, replaces } = doubts.get(record.address)?.intent ?? {};
      if (fileId === undefined) return record;
      const mark = replaces === record.fileId ? { replacedBy: fileId } : {};
      return { ...record, address: fileResource(record), formerAddress: record.address, ...mark };
    });
  const inDoubt = recorded.inDoubt.filter((operation) => !assumed.has(fileResourceOf(operation) ?? ""));
  // Nor does an entry that has a file wait for one.
  const keptValues = new Map([...recorded.keptValues].filter(([address]) => !doubts.has(address)));
  return { ...recorded, attachments: [...others, ...assumed.values()], inDoubt, keptValues };
}

/** What an attachment in doubt was sent with, or its file with other attributes; `null` when the ledger does not have the file. */
export function sentState(
  { intent }: RecordedOperation,
  attributes: Attributes = intent.attributes ?? {},
): AttachmentState | null {
  const { fileId, sha256 } = intent;
  if (fileId === undefined) return null;
  return orderState({ file_id: fileId, ...(sha256 === undefined ? {} : { sha256 }), ...attributes });
}

/**
 * The change for an address in doubt. With `after`, apply settles it, and sets `attributes`: those that the manifest has, or that
 * a replacement took over. Others of `after` are only sent when the file is attached again.
 */
export function inDoubtChange(
  operation: RecordedOperation,
  after: AttachmentState | null = null,
  attributes: readonly string[] = [],
): InDoubtChange {
  const { address } = operation;
  const before = inDoubtState(operation);
  return { address, action: "in_doubt", reason: "outcome_unknown", before, after, attributes };
}

/** How plans show an operation in doubt. */
export function inDoubtState(operation: RecordedOperation): InDoubtState {
  const status = operation.intent.refusedWith ?? operation.status;
  return {
    operation_id: operation.id,
    kind: operation.kind,
    method: operation.method,
    path: operation.path,
    since: isoTime(operation.startedAt),
    ...(status === undefined ? {} : { status }),
    detail: operation.detail ?? "the process ended, or lost its lock, before the answer was recorded",
  };
}
