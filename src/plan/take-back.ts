import { parseAddress } from "../model/address.ts";
import type { AttachmentState, Change } from "../model/change.ts";
import { isProtectChange } from "../model/change.ts";
import type { StoredOperation } from "../model/history.ts";
import type { Recorded, RecordedAttachment } from "../model/recorded.ts";
import { hasAttributes, pickAttributes } from "../model/resource.ts";
import { fileOf, type PlanHistory, type Progress } from "./plan-progress.ts";
import { basisAddress, type DraftState } from "./recorded-digest.ts";

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
