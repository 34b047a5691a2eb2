import { parseAddress } from "../model/address.ts";
import { type AttachmentState, type Change, isProtectChange } from "../model/change.ts";
import type { StoredOperation } from "../model/history.ts";
import { append } from "../model/lists.ts";
import {
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
  targetOf,
} from "../model/recorded.ts";
import { fileResource, hasAttributes, pickAttributes } from "../model/resource.ts";
import { basisAddress, type DraftState } from "./recorded-digest.ts";

/** What the ledger's history knows of earlier runs of a plan. */
export interface PlanHistory {
  /** Ids of the runs that applied this plan; empty before the first. */
  readonly runIds: ReadonlySet<string>;
  /** The operations of these runs, by start. */
  readonly own: readonly StoredOperation[];
  /** All operations of other runs, by start; may be left out while there are no own ones. */
  readonly others: readonly StoredOperation[];
}

/** How far earlier runs of the plan took one change. */
export type Progress =
  /** No call of it is known to have taken effect. */
  | { readonly type: "open" }
  /** A call that must not be repeated may have taken effect. */
  | { readonly type: "in_doubt"; readonly operation: RecordedOperation }
  /** A replacement whose new file is attached and whose old one is not detached. */
  | { readonly type: "attached"; readonly file: string }
  /** `file`: the path of the file that it attached or updated. */
  | { readonly type: "done"; readonly file?: string };

/** The path of a change's file: `drafts/48213/product_files/9900011`. */
export function fileOf({ address }: Pick<Change, "address">, { file_id: fileId }: AttachmentState): string {
  const parsed = parseAddress(address);
  if (parsed?.type !== "attachment" || fileId === undefined) throw new TypeError(`${address} has no file id`);
  return fileResource({ draftId: parsed.draftId, kind: parsed.kind, fileId });
}

/** Finds out how far earlier runs of a plan took each of its changes, from the operations alone. */
export function makeProgressFinder(
  changes: readonly Change[],
  { own, runIds }: PlanHistory,
  inDoubt: readonly RecordedOperation[],
): (change: Change) => Progress {
  const done = groupByAddress(own.filter(tookEffect));
  const doubts = groupByAddress(
    inDoubt.filter(({ runId, kind }) => runIds.has(runId) && kind !== "update" && kind !== "detach"),
  );
  const detached = new Set(
    own.filter((each) => tookEffect(each) && each.kind === "detach").flatMap(resourceOf),
  );
  const attachedAt = (address: string) =>
    done
      .get(address)
      ?.flatMap((each) => (each.kind === "detach" ? [] : resourceOf(each)))
      .at(-1);
  // A file that a run has just attached is not detached by it, whatever record it had before.
  const attached = new Set(changes.filter(attaches).flatMap(({ address }) => attachedAt(address) ?? []));
  const isGone = (file: string) => detached.has(file) || attached.has(file);
  const open = (address: string): Progress => {
    const operation = doubts.get(address)?.at(-1);
    return operation === undefined ? { type: "open" } : { type: "in_doubt", operation };
  };
  return (change) => {
    const { address } = change;
    switch (change.action) {
      case "create":
      case "update":
      case "in_doubt": {
        const file = attachedAt(address);
        return file === undefined ? open(address) : { type: "done", file };
      }
      case "replace": {
        const file = attachedAt(address);
        if (file === undefined) return open(address);
        return { type: isGone(fileOf(change, change.before)) ? "done" : "attached", file };
      }
      case "delete":
        return { type: isGone(fileOf(change, change.before)) ? "done" : "open" };
      case "publish":
      case "duplicate":
        return done.has(address) ? { type: "done" } : open(address);
      case "adopt":
      case "forget":
        return { type: "open" };
    }
  };
}

function attaches({ action }: Change): boolean {
  return action === "create" || action === "replace" || action === "in_doubt";
}

/** Whether an operation is known to have taken effect, by its answer or by what settled it. */
function tookEffect({ outcome, settled }: StoredOperation): boolean {
  return (settled?.as ?? outcome) === "done";
}

function resourceOf(operation: RecordedOperation): string[] {
  const target = targetOf(operation);
  return target === undefined ? [] : [fileResource(target)];
}

function groupByAddress<T extends RecordedOperation>(operations: readonly T[]): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const operation of operations) append(groups, operation.address, operation);
  return groups;
}

/** A change, and how far earlier runs of its plan took it. */
export interface Tracked {
  readonly change: Change;
  readonly progress: Progress;
}

interface TakeBackOptions {
  readonly recorded: Recorded;
  readonly history: PlanHistory;
  /** Of the draft: `drafts/48213`. */
  readonly address: string;
}

/** Whether what earlier runs completed is recorded exactly as they left it. */
export function areAsLeft(tracked: readonly Tracked[], state: DraftState): boolean {
  const attached = new Set(tracked.flatMap(({ progress }) => ("file" in progress ? [progress.file] : [])));
  const isGone = (file: string) => !state.attachments.has(file) || attached.has(file);
  return tracked.every((each) => isAsLeft(each, state, isGone));
}

function isAsLeft(
  { change, progress }: Tracked,
  { attachments, publications }: DraftState,
  isGone: (file: string) => boolean,
): boolean {
  if (progress.type === "open" || progress.type === "in_doubt") return true;
  switch (change.action) {
    case "publish":
      return publications.has(change.after.revision);
    case "delete":
      return isGone(fileOf(change, change.before));
    case "adopt":
    case "duplicate":
    case "forget":
      return true;
    case "update":
      if (isProtectChange(change)) return true;
      break;
    case "replace":
      if (progress.type === "done" && !isGone(fileOf(change, change.before))) return false;
      break;
    case "create":
    case "in_doubt":
      break;
  }
  return isRecordedAs(change.address, change.after ?? {}, attachments.get(progress.file ?? ""));
}

function isRecordedAs(
  address: string,
  after: AttachmentState,
  record: RecordedAttachment | undefined,
): boolean {
  if (record?.address !== address || (after.sha256 ?? record.sha256) !== record.sha256) return false;
  return hasAttributes(record.kind, record.attributes, pickAttributes(record.kind, after));
}

/** Whether another run wrote to a draft after this plan's runs began to. Attributes that no manifest names are not compared. */
export function isWrittenByOthers(draft: string, { own, others }: PlanHistory): boolean {
  const isHere = ({ address }: StoredOperation) => basisAddress({ address }) === draft;
  const since = own.find(isHere)?.startedAt ?? Number.POSITIVE_INFINITY;
  return others.some(
    (each) =>
      isHere(each) && each.startedAt >= since && each.outcome !== "rejected" && each.outcome !== "not_sent",
  );
}

/** The state of a draft without what this plan's runs did to it. */
export function takeBack(
  tracked: readonly Tracked[],
  { protect, attachments: now, publications, inDoubt }: DraftState,
  { recorded, history, address }: TakeBackOptions,
): DraftState {
  const before: DraftState = {
    protect,
    attachments: new Map(now),
    publications: new Map(publications),
    inDoubt: doubtsBefore(inDoubt, { recorded, history, address }),
  };
  const { attachments } = before;
  if (history.runIds.size === 0) return before;
  for (const { change, progress } of tracked) {
    if (change.action === "in_doubt" && progress.type !== "open")
      before.inDoubt.add(change.before.operation_id);
    if (change.action !== "update" && "file" in progress) attachments.delete(progress.file ?? "");
  }
  for (const each of tracked) {
    const { change, progress } = each;
    if (isProtectChange(change)) before.protect = change.before.protect;
    else if (change.action === "publish") {
      if (progress.type === "done") before.publications.delete(change.after.revision);
    } else if (isCompleted(each, { ...before, attachments: now })) putBack(attachments, change);
    else if (change.action === "delete" || progress.type === "attached") readdress(attachments, change, now);
  }
  return before;
}

/** Whether a change did all that it was to do to the record it had before. */
function isCompleted(each: Tracked, state: DraftState): boolean {
  return each.progress.type === "done" || isInEffect(each, state);
}

/** Doubts of this plan's runs do not count; those of others that its runs settled do. */
function doubtsBefore(
  inDoubt: ReadonlySet<string>,
  { recorded, history, address }: TakeBackOptions,
): Set<string> {
  const own = new Set(history.own.map(({ id }) => id));
  const unsettled = recorded.inDoubt.filter(({ id, runId }) => inDoubt.has(id) && !history.runIds.has(runId));
  const settled = history.others.filter(
    (each) => basisAddress(each) === address && each.settled?.by !== undefined && own.has(each.settled.by),
  );
  return new Set([...unsettled, ...settled].map(({ id }) => id));
}

/** The file that a change found attached; `undefined` when there was none, or the change is of something else. */
function fileBefore(change: Change): AttachmentState | undefined {
  switch (change.action) {
    case "update":
      return isProtectChange(change) ? undefined : change.before;
    case "replace":
    case "adopt":
    case "delete":
      return change.before;
    default:
      return undefined;
  }
}

/** Records the file that a change found again, under the address that it had. */
function putBack(attachments: Map<string, RecordedAttachment>, change: Change): void {
  const state = fileBefore(change);
  const parsed = parseAddress(change.address);
  if (state?.file_id === undefined || parsed?.type !== "attachment") return;
  const { draftId, kind } = parsed;
  attachments.set(fileOf(change, state), {
    draftId,
    kind,
    fileId: state.file_id,
    address: state.address ?? change.address,
    attributes: pickAttributes(kind, state),
    ...(state.sha256 === undefined ? {} : { sha256: state.sha256 }),
    // Digests leave provenance out.
    provenance: { by: "operator", at: 0 },
  });
}

/** A file that gave up its address to the one that takes its place, and is still attached. */
function readdress(
  attachments: Map<string, RecordedAttachment>,
  change: Change,
  now: ReadonlyMap<string, RecordedAttachment>,
): void {
  const state = fileBefore(change);
  if (state === undefined) return;
  const file = fileOf(change, state);
  const record = now.get(file);
  if (record?.address !== file) return;
  attachments.set(file, { ...record, address: state.address ?? change.address });
}

/** Whether a change of the ledger alone has been made; only to be asked once a run of the plan has begun. */
export function isInEffect({ change }: Tracked, { protect, attachments }: DraftState): boolean {
  if (isProtectChange(change)) return protect === change.after.protect;
  if (change.action !== "adopt") return false;
  const record = attachments.get(fileOf(change, change.before));
  return record?.address === change.address && (change.after.sha256 ?? record.sha256) === record.sha256;
}
