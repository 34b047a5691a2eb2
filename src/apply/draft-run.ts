import { type Stage, stages } from "../model/action.ts";
import { targetAt } from "../model/address.ts";
import {
  type AttachmentState,
  type Change,
  type CreateChange,
  type DeleteChange,
  draftOf,
  type InDoubtChange,
  isBlocked,
  isProtectChange,
  maybePublishedHint,
  type PublishChange,
  type ReplaceChange,
  stagesOf,
} from "../model/change.ts";
import { lazily } from "../model/lazily.ts";
import { fileResource } from "../model/resource.ts";
import { onAbort } from "../model/wait.ts";
import {
  adoptFile,
  attachFile,
  detachFile,
  settleDoubt,
  takeOverFile,
  updateFile,
} from "./attachment-change.ts";
import { type ApplyContext, type ChangeEnd, isHeld } from "./context.ts";
import { allEnded } from "./operation.ts";
import { publishDraft } from "./product-change.ts";
import { holderOf, type KnownFile, plannedFile, type RecordedFiles, sameFileFailure } from "./same-file.ts";
import { byTurn, runInTurn } from "./start-order.ts";
import type { ChangeTracker } from "./tracker.ts";
import type { Uploads } from "./uploads.ts";

/** One draft's share of a plan. */
export interface DraftWork {
  readonly draftId: number;
  readonly changes: readonly Change[];
}

/** How a draft ended: with the product that was published from it in this run, if any. */
export interface DraftEnd {
  readonly productId?: number | undefined;
  /** Its publication is for the next run. */
  readonly isDeferred: boolean;
}

interface DraftTools {
  readonly context: ApplyContext;
  readonly uploads: Uploads;
  readonly recorded: RecordedFiles;
  readonly tracker: ChangeTracker;
  /** Stops the whole run at once when the work throws. */
  readonly guarded: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A change, and what its earlier stages found. */
interface Item {
  readonly change: Change;
  readonly stages: readonly Stage[];
  /** Once its upload has ended. */
  fileId?: number;
  /** The files that were known when its upload ended. */
  recorded?: ReadonlyMap<string, KnownFile>;
  /** Its file turned out to be attached before. */
  wasAttached?: true;
}

/**
 * Applies one draft's changes, stage by stage (see {@link stages}). Within a stage everything runs concurrently; the next one
 * starts when all of it is confirmed. Changes after a failure end `skipped`.
 */
export async function runDraft(tools: DraftTools, work: DraftWork): Promise<DraftEnd> {
  const { signal } = tools.context;
  const halt = new AbortController();
  const stopListening = onAbort(signal, () => halt.abort());
  if (signal.aborted) halt.abort();
  try {
    return await new DraftRun(tools, work, halt).run();
  } finally {
    stopListening();
  }
}

class DraftRun {
  readonly #tools: DraftTools;
  readonly #items: readonly Item[];
  /** Ends what of the draft has not been sent. */
  readonly #halt: AbortController;
  /** The files of all changes but the deletions, by their paths at the service; complete once the uploads have ended. */
  readonly #kept = lazily(() => new Set(this.#items.flatMap(keptFile)));
  /** The files to be detached whose recorded addresses other files take, by these addresses. */
  readonly #former = lazily(() => new Map(this.#items.flatMap(formerFile)));
  #productId: number | undefined;
  /** The first change that did not succeed. */
  #failedAt: string | undefined;
  /** A file that was attached before this ledger recorded it: a product may have been published as well. */
  #attachedBefore: string | undefined;
  /** A change was deferred, so the later stages are. */
  #isDeferred = false;

  constructor(tools: DraftTools, work: DraftWork, halt: AbortController) {
    this.#tools = tools;
    this.#items = work.changes.map((change) => ({ change, stages: withUpload(change) }));
    this.#halt = halt;
  }

  async run(): Promise<DraftEnd> {
    const { tracker, context } = this.#tools;
    const blocked = this.#items.map(({ change }) => change).filter(isBlocked);
    for (const change of blocked) tracker.block(change);
    const doubt = blocked[0]?.address;
    for (const stage of stages) {
      const due = this.#items.filter((item) => item.stages.includes(stage) && !tracker.hasEnded(item.change));
      if (due.length === 0) continue;
      const because = this.#failedAt ?? (stage === "publish" ? doubt : undefined) ?? tracker.stoppedBy();
      if (because !== undefined) {
        for (const { change } of due) tracker.skip(change, because);
      } else if (this.#isDeferred || (stage !== "ledger" && context.budget?.isSpent)) {
        for (const { change } of due) tracker.defer(change);
        this.#isDeferred = true;
      } else {
        await this.#runStage(due, stage);
      }
    }
    return { productId: this.#productId, isDeferred: this.#isDeferred };
  }

  async #runStage(due: readonly Item[], stage: Stage): Promise<void> {
    const { turns } = this.#tools.context;
    const run = (item: Item) => this.#runItem(item, stage);
    // Uploads are read together, and one that fails stops the draft anyway.
    if (stage === "upload") await allEnded(byTurn(due, turns, addressOf).map(run));
    else await runInTurn(due, turns, { addressOf, run });
  }

  async #runItem(item: Item, stage: Stage): Promise<void> {
    const { tracker, context, guarded } = this.#tools;
    const { change } = item;
    tracker.start(change);
    const end = await guarded(() => this.#apply(item, stage));
    if (end.outcome === "done") {
      if (end.wasAttached) {
        item.wasAttached = true;
        this.#attachedBefore ??= change.address;
      }
      this.#productId ??= end.productId;
      if (stage === "attach") tracker.attached();
      if (item.stages.at(-1) !== stage) return;
      return tracker.end(change, { ...end, ...(item.wasAttached ? { wasAttached: true } : {}) });
    }
    if (isHeld(end, context.budget)) {
      this.#isDeferred = true;
      if (end.outcome === "rejected" || ("failure" in end && end.isBegun)) tracker.tried(change);
    } else {
      this.#failedAt ??= change.address;
      if (end.outcome !== "skipped" && end.failure.stops !== "operation") this.#halt.abort();
    }
    tracker.end(change, end, this.#failedAt);
  }

  async #apply(item: Item, stage: Stage): Promise<ChangeEnd> {
    const { context } = this.#tools;
    const { signal } = this.#halt;
    const { change } = item;
    switch (change.action) {
      case "create":
      case "replace":
        if (stage === "upload") return this.#upload(item, change);
        if (stage === "detach" && change.action === "replace") return this.#detach(change);
        return this.#attach(item, change);
      case "update":
        return isProtectChange(change)
          ? protect(context, change)
          : updateFile(context, { change, replaces: this.#former().get(change.address), signal });
      case "delete":
        return this.#detach(change);
      case "adopt":
        return adoptFile(context, { change, replaces: this.#former().get(change.address) });
      case "publish":
        // The plan left out what was known before this run.
        if (await context.ledger.isMaybePublished(draftOf(change)))
          return publishedBefore(change, this.#attachedBefore);
        return publishDraft(context, { change, signal });
      case "in_doubt":
        if (change.after === null) throw new TypeError(`${change.address} is for a person to settle`);
        return this.#settle(change, change.after);
      case "duplicate":
      case "forget":
        throw new TypeError(`${change.action} is not a change of a draft's files`);
    }
  }

  async #upload(item: Item, { after }: CreateChange | ReplaceChange): Promise<ChangeEnd> {
    const end = await this.#tools.uploads.fileIdFor(after, this.#tools.context.whileIdle);
    if (end.outcome === "done") {
      item.fileId = end.fileId;
      // Read before the attach stage begins, so that its calls start in the order of the plan.
      item.recorded = await this.#tools.recorded();
    }
    return end;
  }

  /** Attaches a file, unless it is the result of an upload and belongs to another entry. */
  async #attach(item: Item, change: CreateChange | ReplaceChange): Promise<ChangeEnd> {
    const { address, after } = change;
    const known = item.fileId ?? after.file_id;
    if (known === undefined) throw new TypeError(`${address} has no file id after its upload`);
    const { context } = this.#tools;
    const { signal } = this.#halt;
    // The planner has compared a file that the manifest names by its id with the others.
    if (address === fileName(change, known))
      return attachFile(context, { change, fileId: known, replaces: undefined, signal });
    const recorded = item.recorded ?? (await this.#tools.recorded());
    const replaces = this.#fileToDetach(change, recorded);
    const holder = holderOf({ address, fileId: known }, this.#items, recorded);
    if (holder !== undefined) return sameFileFailure(known, holder);
    const { attachment, open = {} } = recorded.get(fileName(change, known)) ?? {};
    if (attachment !== undefined) {
      const isWaiting = ({ change: other }: Item) =>
        other !== change && other.address === attachment.address && other.after !== null;
      const takesOver = this.#items.some(isWaiting);
      return takeOverFile(context, { ...attachment, takesOver, open }, { change, replaces, signal });
    }
    return attachFile(context, { change, fileId: known, replaces, signal });
  }

  /** The recorded file of a change, to be detached; `undefined` when another entry keeps it or has taken it over. */
  #fileToDetach(
    { address, before }: CreateChange | DeleteChange | ReplaceChange,
    recorded: ReadonlyMap<string, KnownFile>,
  ): number | undefined {
    const { file_id: fileId } = before ?? {};
    if (fileId === undefined) return undefined;
    const file = fileName({ address }, fileId);
    const at = recorded.get(file)?.attachment?.address;
    // A file that gave up its address is recorded under its id.
    const isMoved = at !== undefined && at !== file && at !== (before?.address ?? address);
    return this.#kept().has(file) || isMoved ? undefined : fileId;
  }

  async #settle(change: InDoubtChange, after: AttachmentState): Promise<ChangeEnd> {
    // Before anything is awaited: the changes of a stage get what is left in their order.
    const budget = this.#tools.context.budget?.operation();
    if (budget?.settles() === false) return beyondBudget;
    const fileId = plannedFile(change);
    const recorded = await this.#tools.recorded();
    const { attachment, replaces } =
      (fileId === undefined ? undefined : recorded.get(fileName(change, fileId))) ?? {};
    const { signal } = this.#halt;
    const isKept = replaces !== undefined && this.#kept().has(fileName(change, replaces));
    return settleDoubt(this.#tools.context, {
      change,
      after,
      known: attachment,
      replaces: isKept ? undefined : (replaces ?? this.#former().get(change.address)),
      signal,
      budget,
    });
  }

  async #detach(change: DeleteChange | ReplaceChange): Promise<ChangeEnd> {
    if (this.#fileToDetach(change, await this.#tools.recorded()) === undefined)
      return { outcome: "done", ...(change.action === "delete" ? { staysAttached: true } : {}) };
    return detachFile(this.#tools.context, { change, signal: this.#halt.signal });
  }
}

function addressOf({ change }: Item): string {
  return change.address;
}

/** A doubt whose check does not fit into the run any more. */
const beyondBudget: ChangeEnd = {
  outcome: "not_sent",
  failure: {
    code: "call-budget-exhausted",
    message: "whether the call took effect is checked by the next run",
    errors: [],
    stops: "operation",
  },
};

/** Evidence of an earlier ledger: the process that attached the file may have published the draft, too. */
function publishedBefore(change: PublishChange, file = "a file of the draft"): ChangeEnd {
  return {
    outcome: "not_sent",
    failure: {
      code: "maybe-published",
      message: `${file} was attached already, by a call that this ledger does not have as done, so the draft may be published as well`,
      hint: maybePublishedHint(change),
      errors: [],
      stops: "operation",
    },
  };
}

function formerFile({ change }: Item): [string, number | undefined][] {
  if (change.action !== "delete" || change.before.address === undefined) return [];
  return [[change.before.address, change.before.file_id]];
}

/** The file that a change attaches or keeps. */
function keptFile({ change, fileId = plannedFile(change) }: Item): string[] {
  return fileId === undefined ? [] : [fileName(change, fileId)];
}

function fileName({ address }: Pick<Change, "address">, fileId: number): string {
  return fileResource(targetAt(address, fileId));
}

async function protect(
  { ledger, runId }: ApplyContext,
  { address, after }: { readonly address: string; readonly after: { readonly protect: boolean } },
): Promise<ChangeEnd> {
  const draftId = Number(address.slice("drafts/".length));
  await ledger.record([{ type: "protection", draftId, protect: after.protect }], runId);
  return { outcome: "done" };
}

/** A new file needs an upload first. */
function withUpload(change: Change): readonly Stage[] {
  const isNewFile =
    (change.action === "create" || change.action === "replace") && change.after.file_id === undefined;
  return isNewFile ? ["upload", ...stagesOf(change)] : stagesOf(change);
}
