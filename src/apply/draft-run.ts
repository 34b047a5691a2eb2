import { type Stage, stages } from "../model/action.ts";
import { parseAddress } from "../model/address.ts";
import type { Change, DeleteChange, ReplaceChange } from "../model/change.ts";
import { isBlocked, isProtectChange, stagesOf } from "../model/change.ts";
import { onAbort } from "../model/on-abort.ts";
import { adoptFile, attachFile, detachFile, settleDoubt, updateFile } from "./attachment-change.ts";
import { type ApplyContext, type ChangeEnd, isHeld } from "./context.ts";
import { publishDraft } from "./product-change.ts";
import { holderOf, plannedFile, type RecordedFiles, sameFileFailure } from "./same-file.ts";
import type { ChangeTracker } from "./tracker.ts";
import { allEnded } from "./unrecorded.ts";
import type { Uploads } from "./uploads.ts";

/** One draft's share of a plan. */
export interface DraftWork {
  readonly draftId: number;
  readonly changes: readonly Change[];
}

/** What others may wait for: the product, when one was published from the draft in this run. */
export interface DraftEnd {
  readonly productId?: number;
  /** Its publication is for the next run. */
  readonly isDeferred?: true;
}

interface DraftTools {
  readonly context: ApplyContext;
  readonly uploads: Uploads;
  readonly recorded: RecordedFiles;
  readonly tracker: ChangeTracker;
  /** Stops the whole run at once when the work throws. */
  readonly guarded: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A change on its way through the stages. */
interface Item {
  readonly change: Change;
  readonly stages: readonly Stage[];
  /** Once its upload has ended. */
  fileId?: number;
  /** Its file turned out to be attached before. */
  wasAttached?: true;
  /** Where files are recorded, since then. */
  recorded?: ReadonlyMap<string, string>;
}

/**
 * Applies one draft's changes, stage by stage (see {@link stages}). Within a stage everything runs concurrently; the next one
 * starts when all of it is confirmed. Changes after a failure end `skipped`.
 */
export async function runDraft(tools: DraftTools, work: DraftWork): Promise<DraftEnd> {
  const { signal } = tools.context;
  const halt = new AbortController();
  const leave = onAbort(signal, () => halt.abort());
  if (signal.aborted) halt.abort();
  try {
    return await runStages(tools, work, halt);
  } finally {
    leave();
  }
}

/** What one draft's run knows so far. */
interface Progress {
  /** Every change of the draft. */
  readonly items: readonly Item[];
  /** Files that this run has attached or confirmed: `product_files/9900011`. */
  readonly attached: Set<string>;
  productId?: number;
  /** The first change that did not end well. */
  failedAt?: string;
  /** A file that was attached before this ledger recorded it: a product may have been published as well. */
  attachedBefore?: string;
  /** A change was deferred, so the later stages are. */
  isDeferred?: true;
}

/** `halt` ends what of the draft has not been sent. */
async function runStages(tools: DraftTools, work: DraftWork, halt: AbortController): Promise<DraftEnd> {
  const { tracker, context } = tools;
  const items: Item[] = work.changes.map((change) => ({ change, stages: allStagesOf(change) }));
  const blocked = work.changes.filter(isBlocked);
  for (const change of blocked) tracker.block(change);
  const doubt = blocked[0]?.address;
  const progress: Progress = { items, attached: new Set() };
  for (const stage of stages) {
    const due = items.filter((item) => item.stages.includes(stage) && !tracker.hasEnded(item.change));
    if (due.length === 0) continue;
    const because = progress.failedAt ?? (stage === "publish" ? doubt : undefined) ?? tracker.stoppedBy();
    if (because !== undefined) {
      for (const { change } of due) tracker.skip(change, because);
    } else if (progress.isDeferred || (stage !== "ledger" && context.budget?.isSpent)) {
      for (const { change } of due) tracker.defer(change);
      progress.isDeferred = true;
    } else await allEnded(due.map((item) => runItem(tools, { item, stage, progress, halt })));
  }
  const { productId, isDeferred } = progress;
  return {
    ...(productId === undefined ? {} : { productId }),
    ...(isDeferred === undefined ? {} : { isDeferred }),
  };
}

/** Evidence of an earlier life: what attached the file may have published the draft, too. */
function publishedBefore({ address }: Change, file: string): ChangeEnd {
  return {
    outcome: "not_sent",
    failure: {
      code: "maybe-published",
      message: `${file} was attached already, by a call that this ledger does not have as done, so the draft may be published as well`,
      hint: `If it is published: draftsync resolve ${address} --product-id ID. If it is not: draftsync resolve ${address} --not-done`,
      errors: [],
      stops: "operation",
    },
  };
}

interface ItemWork {
  readonly item: Item;
  readonly stage: Stage;
  readonly progress: Progress;
  readonly halt: AbortController;
}

async function runItem(tools: DraftTools, { item, stage, progress, halt }: ItemWork): Promise<void> {
  const { tracker, context } = tools;
  const { change } = item;
  const { attached } = progress;
  tracker.start(change);
  const step = { item, items: progress.items, stage, progress, signal: halt.signal };
  const end = await tools.guarded(() => applyChange(tools, step));
  if (end.outcome === "done") {
    if (end.fileId !== undefined) attached.add(fileName(change, end.fileId));
    if (end.wasAttached) {
      item.wasAttached = true;
      progress.attachedBefore ??= change.address;
    }
    if (end.productId !== undefined) progress.productId = end.productId;
    if (item.stages.at(-1) !== stage) return;
    return tracker.end(change, { ...end, ...(item.wasAttached ? { wasAttached: true } : {}) });
  } else if (isHeld(end, context.budget)) progress.isDeferred = true;
  else {
    progress.failedAt ??= change.address;
    if (end.outcome !== "skipped" && end.failure.stops !== "operation") halt.abort();
  }
  tracker.end(change, end, progress.failedAt);
}

interface ChangeStep {
  readonly item: Item;
  /** Every change of the draft. */
  readonly items: readonly Item[];
  readonly stage: Stage;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function applyChange(tools: DraftTools, step: ChangeStep): Promise<ChangeEnd> {
  const { item, stage, progress, signal } = step;
  const { context } = tools;
  const { attached, attachedBefore } = progress;
  const { change } = item;
  switch (change.action) {
    case "create":
    case "replace":
      if (stage === "upload") return uploadFor(tools, item);
      if (stage === "detach" && change.action === "replace")
        return detach(context, { change, attached, signal });
      return (
        sameFile(step) ??
        attachFile(context, { change, fileId: fileIdOf(item), recorded: item.recorded, signal })
      );
    case "update":
      return isProtectChange(change) ? protect(context, change) : updateFile(context, { change, signal });
    case "delete":
      return detach(context, { change, attached, signal });
    case "adopt":
      return adoptFile(context, change);
    case "publish":
      if (attachedBefore !== undefined) return publishedBefore(change, attachedBefore);
      return publishDraft(context, { change, signal });
    case "in_doubt":
      if (change.after === null) throw new TypeError(`${change.address} is for a person to settle`);
      return settleDoubt(context, { change, after: change.after, signal });
    case "duplicate":
    case "forget":
      throw new TypeError(`${change.action} is not a change of a draft's files`);
  }
}

/** Detaches a file, unless this run has just attached it for another entry. */
async function detach(
  context: ApplyContext,
  {
    change,
    attached,
    signal,
  }: { change: DeleteChange | ReplaceChange } & Pick<Progress, "attached"> & Pick<ChangeStep, "signal">,
): Promise<ChangeEnd> {
  const { file_id: fileId } = change.before;
  if (fileId !== undefined && attached.has(fileName(change, fileId))) return { outcome: "done" };
  return detachFile(context, { change, signal });
}

function fileName({ address }: Change, fileId: number): string {
  const parsed = parseAddress(address);
  return `${parsed?.type === "attachment" ? parsed.kind : ""}/${fileId}`;
}

async function uploadFor({ uploads, recorded }: DraftTools, item: Item): Promise<ChangeEnd> {
  const { change } = item;
  if (change.action !== "create" && change.action !== "replace")
    throw new TypeError("only a new file is uploaded");
  const end = await uploads.fileIdFor(change.after);
  if (end.outcome === "done") {
    item.fileId = end.fileId;
    item.recorded = await recorded();
  }
  return end;
}

/** The failure of an upload whose file belongs to another entry; `undefined` otherwise. */
function sameFile({ item, items }: ChangeStep): ChangeEnd | undefined {
  const { change, fileId, recorded } = item;
  if (fileId === undefined || recorded === undefined) return undefined;
  const files = items.map((each) => ({
    change: each.change,
    fileId: each.fileId ?? plannedFile(each.change),
  }));
  const holder = holderOf({ address: change.address, fileId }, files, recorded);
  return holder === undefined ? undefined : sameFileFailure(fileId, holder);
}

function fileIdOf({ change, fileId }: Item): number {
  const planned =
    change.action === "create" || change.action === "replace" ? change.after.file_id : undefined;
  const known = fileId ?? planned;
  if (known === undefined) throw new TypeError(`${change.address} has no file id after its upload`);
  return known;
}

async function protect(
  { ledger }: ApplyContext,
  { address, after }: { readonly address: string; readonly after: { readonly protect: boolean } },
): Promise<ChangeEnd> {
  const draftId = Number(address.slice("drafts/".length));
  await ledger.record([{ type: "protection", draftId, protect: after.protect }]);
  return { outcome: "done" };
}

/** The stages of a change, with the upload that a new file needs. */
function allStagesOf(change: Change): readonly Stage[] {
  const isNewFile =
    (change.action === "create" || change.action === "replace") && change.after.file_id === undefined;
  return isNewFile ? ["upload", ...stagesOf(change)] : stagesOf(change);
}
