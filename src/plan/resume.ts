import { compareText, draftIdOf, publicationAddress, targetAt, wholeAddress } from "../model/address.ts";
import {
  type AttachmentState,
  type Change,
  type CreateChange,
  type DeleteChange,
  type DuplicateChange,
  type InDoubtChange,
  isProtectChange,
  orderState,
  type ProtectChange,
  type ReplaceChange,
  type UpdateChange,
} from "../model/change.ts";
import type { StoredOperation } from "../model/history.ts";
import { append } from "../model/lists.ts";
import type { Plan } from "../model/plan.ts";
import {
  publicationsInForce,
  type Recorded,
  type RecordedAttachment,
  type RecordedDuplicate,
  type RecordedOperation,
} from "../model/recorded.ts";
import { changedAttributes, fileResource, pickAttributes } from "../model/resource.ts";
import { repeatableDoubts, withoutDoubtful } from "../model/unsettled.ts";
import { recordedState } from "./attachment-states.ts";
import { sortDiagnostics } from "./differences.ts";
import { doubtsOfCopy, draftsInDoubt, inDoubtChange, isBlocking, isCopyOf, sentState } from "./doubts.ts";
import { excludeUnsettled } from "./exclude-waiting.ts";
import { namesOfPlan } from "./names.ts";
import { doubtKey, makeFreshTest } from "./plan-basis.ts";
import { withChanges } from "./policy.ts";
import { makeKnownUploads } from "./recorded-index.ts";

/** What the ledger's history knows of earlier runs of a plan. */
export interface PlanHistory {
  /** Ids of the runs that applied this plan; empty before the first. */
  readonly runIds: ReadonlySet<string>;
  /** Their operations, by start. */
  readonly operations: readonly StoredOperation[];
}

/** What is left of a plan, or what of it is stale. */
export type Resumption =
  | {
      readonly type: "fresh";
      /** The changes that are left, under the `plan_id` of the whole plan: they are a part of what was reviewed. */
      readonly plan: Plan;
      /** How many changes earlier runs completed. */
      readonly done: number;
    }
  | {
      readonly type: "stale";
      /** What is recorded for them has changed. */
      readonly addresses: readonly string[];
      /** Duplicates whose product another run has, or may have, copied under another name: their entries may have been renamed. */
      readonly copied: readonly string[];
    };

/**
 * What is left of a plan, given what its earlier runs did. Pure.
 *
 * A plan is stale for a draft or duplicate that anything but its own runs has changed since it was made: the ledger gives each
 * change a version, and remembers the one before the changes of the latest plan. So what is recorded by now is what the plan
 * was made from and what its runs did, and a change that they completed is not made again.
 */
export function resumePlan(plan: Plan, recorded: Recorded, history: PlanHistory): Resumption {
  const { runIds } = history;
  const isFresh = makeFreshTest(plan, recorded, runIds);
  const restOf = new RestOfPlan(plan, recorded, history);
  const groups = new Map<string, Change[]>();
  for (const change of plan.changes) append(groups, wholeAddress(change.address), change);
  const rest: Change[] = [];
  const stale = new Set<string>();
  const copied = new Set<string>();
  let done = 0;
  for (const basis of plan.base.resources) {
    const rests = isFresh(basis)
      ? (groups.get(basis.address) ?? []).map((change) => restOf.of(change))
      : (["stale"] as const);
    for (const each of rests) {
      if (each === "stale") stale.add(basis.address);
      else if (each === "copied") copied.add(basis.address);
      else {
        rest.push(...each);
        if (each.length === 0) done += 1;
      }
    }
  }
  if (stale.size + copied.size > 0) return { type: "stale", addresses: [...stale], copied: [...copied] };
  if (runIds.size === 0) return { type: "fresh", plan, done: 0 };
  const known = makeKnownUploads(recorded);
  const nameOf = namesOfPlan(plan);
  const due = excludeUnsettled({ changes: rest, unchanged: [], diagnostics: [] });
  const changes = due.changes
    .map((change) => ({ ...withKnownUpload(change, known), ...nameOf(change.address) }))
    .sort((a, b) => compareText(a.address, b.address));
  // The first run of a plan records its drift before all else.
  const isRecorded = (address: string) => recorded.versions.get(address)?.changedBy === plan.plan_id;
  const drift = plan.drift?.filter(({ address }) => !isRecorded(wholeAddress(address)));
  const diagnostics = sortDiagnostics([...plan.diagnostics, ...due.diagnostics]);
  const left = { ...withChanges(plan, changes), ...(drift && { drift }), diagnostics };
  return { type: "fresh", plan: left, done };
}

type Rest = readonly Change[] | "stale" | "copied";

/** What is left of each change. Only the plan has changed its draft, or its duplicate, since the plan was made. */
class RestOfPlan {
  readonly #plan: Plan;
  readonly #recorded: Recorded;
  readonly #runIds: ReadonlySet<string>;
  readonly #done: ReadonlyMap<string, readonly StoredOperation[]>;
  readonly #doubts: ReadonlyMap<string, readonly RecordedOperation[]>;
  readonly #repeatable: ReadonlyMap<string, readonly RecordedOperation[]>;
  /** By their files. */
  readonly #records: ReadonlyMap<string, RecordedAttachment>;

  constructor(plan: Plan, recorded: Recorded, { operations, runIds }: PlanHistory) {
    this.#plan = plan;
    this.#recorded = recorded;
    this.#runIds = runIds;
    this.#done = groupByAddress(operations.filter(tookEffect));
    this.#doubts = groupByAddress(recorded.inDoubt.filter(({ runId }) => runIds.has(runId)));
    this.#repeatable = repeatableDoubts(recorded);
    this.#records = new Map(recorded.attachments.map((record) => [fileResource(record), record]));
  }

  of(change: Change): Rest {
    const doubt = this.#doubts.get(change.address)?.findLast(isBlocking);
    switch (change.action) {
      case "create":
      case "replace":
        return this.#ofFile(change, doubt);
      case "update":
        return this.#ofUpdate(change);
      case "delete":
        return this.#hasOldFile(change) ? [change] : [];
      case "adopt":
        return this.#records.get(fileOf(change, change.before))?.address === change.address ? [] : [change];
      case "in_doubt":
        return this.#ofDoubt(change, doubt);
      case "publish":
        if (this.#wasMade(change)) return [];
        return [doubt === undefined ? change : inDoubtChange(doubt)];
      case "duplicate":
        return this.#ofCopy(change, doubt);
      case "forget":
        return this.#isDuplicated(change) ? [change] : [];
    }
  }

  /** The latest call of the change that took effect. */
  #madeBy({ address }: Change): RecordedOperation | undefined {
    const operations = this.#done.get(address) ?? [];
    return operations.findLast(({ kind }) => kind !== "detach" && kind !== "upload");
  }

  #wasMade(change: Change): boolean {
    return this.#madeBy(change) !== undefined;
  }

  #isInEffect({ address, after }: ProtectChange): boolean {
    return this.#recorded.protectedDrafts.has(draftIdOf(address) ?? 0) === after.protect;
  }

  #isDuplicated({ address }: Change): boolean {
    return this.#recorded.duplicates.some(({ name }) => address === `duplicates/${name}`);
  }

  /**
   * Stale when the service no longer had the file in an earlier run. The first run may find it by the plan's drift. A change may
   * take two calls, so it is made once all of its values are recorded.
   */
  #ofUpdate(change: UpdateChange | ProtectChange): Rest {
    if (isProtectChange(change)) return this.#isInEffect(change) ? [] : [change];
    const file = fileOf(change, change.before);
    const record = this.#records.get(file);
    if (!this.#wasMade(change)) return record !== undefined || this.#runIds.size === 0 ? [change] : "stale";
    if (record === undefined) return "stale";
    const known = withoutDoubtful(record, this.#repeatable.get(file));
    const left = changedAttributes(record.kind, known, change.after);
    // What the first call has set is recorded, and not sent again.
    const before = recordedState({ ...record, attributes: known }, change.address);
    return left.length === 0 ? [] : [{ ...change, before, attributes: left }];
  }

  /** Another entry of the plan may have taken the old file over. */
  #hasOldFile(change: DeleteChange | ReplaceChange): boolean {
    const file = fileOf(change, change.before);
    const address = this.#records.get(file)?.address;
    return address === file || address === (change.before.address ?? change.address);
  }

  #ofFile(change: CreateChange | ReplaceChange, doubt: RecordedOperation | undefined): Rest {
    const made = this.#madeBy(change);
    if (made !== undefined) return this.#detachment(change, made);
    if (doubt !== undefined) {
      // The call lacks its values when a recovery log had it, refused.
      const { kind } = targetAt(change.address, 0);
      const attributes = pickAttributes(kind, { ...doubt.intent.attributes, ...change.after });
      const settled = inDoubtChange(doubt, sentState(doubt, attributes), Object.keys(attributes));
      return [settled, ...this.#detachment(change, doubt)];
    }
    return [change.action === "replace" && !this.#hasOldFile(change) ? creationOf(change) : change];
  }

  #ofCopy(change: DuplicateChange, doubt: RecordedOperation | undefined): Rest {
    if (this.#wasMade(change)) return this.#isDuplicated(change) ? [] : "stale";
    if (this.#isMaybeCopied(change)) return "copied";
    return doubt === undefined ? this.#withSource(change) : [inDoubtChange(doubt)];
  }

  /** Nothing when the upload gave the old file again. */
  #detachment(change: CreateChange | ReplaceChange, { intent }: RecordedOperation): readonly Change[] {
    if (change.action !== "replace" || intent.fileId === change.before.file_id) return [];
    return this.#hasOldFile(change) ? [detachmentOf(change)] : [];
  }

  /** Stale when the file was not attached in the end: only a new plan can tell what follows from that. */
  #ofDoubt(change: InDoubtChange, doubt: RecordedOperation | undefined): Rest {
    const { after, before } = change;
    if (doubt !== undefined && doubt.intent.fileId === after?.file_id)
      return [{ ...change, ...inDoubtChange(doubt, after, change.attributes) }];
    if (this.#recorded.inDoubt.some(({ id }) => id === before.operation_id)) return [change];
    return change.check_only || this.#wasMade(change) ? [] : "stale";
  }

  /** Another run has made, or may have made, a copy of the same product under another name since: the entry may have been renamed. */
  #isMaybeCopied({ address, after }: DuplicateChange): boolean {
    const { base, plan_id: planId } = this.#plan;
    const isNew = ({ name }: RecordedDuplicate) => {
      const version = this.#recorded.versions.get(`duplicates/${name}`);
      return version !== undefined && version.serial > base.serial && version.changedBy !== planId;
    };
    const isSame = ({ sourceProductId: productId, from }: RecordedDuplicate) =>
      isCopyOf(from.by === "draft" ? { productId, draftId: from.draftId } : { productId }, after);
    if (this.#recorded.duplicates.some((copy) => isSame(copy) && isNew(copy))) return true;
    const basis = base.resources.find((each) => each.address === address);
    const isKnown = (doubt: RecordedOperation) =>
      this.#runIds.has(doubt.runId) || basis?.in_doubt?.includes(doubtKey(doubt)) === true;
    return !doubtsOfCopy(after, this.#recorded.inDoubt).every(isKnown);
  }

  /** A copy of a draft's product is of the product in force: the planned one, or the one that this plan published. */
  #withSource(change: DuplicateChange): Rest {
    if (change.after.draft_id === undefined) return [change];
    const { product_id, draft_id } = change.after;
    const { productId, revision } = publicationsInForce(this.#recorded).get(draft_id) ?? {};
    const isInDoubt = draftsInDoubt(this.#recorded).has(draft_id);
    if (product_id !== undefined) return product_id === productId && !isInDoubt ? [change] : "stale";
    const planned = this.#plan.changes.find(({ address }) => address === publicationAddress(draft_id));
    const isOpen = planned?.action === "publish" && planned.after.revision !== revision;
    if (productId === undefined || isOpen || isInDoubt) return [change];
    return [{ ...change, after: { product_id: productId, draft_id } }];
  }
}

/** Whether an operation is known to have taken effect, by its response or by what settled it. */
function tookEffect({ outcome, settled }: StoredOperation): boolean {
  return (settled?.as ?? outcome) === "done";
}

function groupByAddress<T extends RecordedOperation>(operations: readonly T[]): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const operation of operations) append(groups, operation.address, operation);
  return groups;
}

/** The path of a change's file: `drafts/48213/product_files/9900011`. */
function fileOf({ address }: Pick<Change, "address">, { file_id: fileId }: AttachmentState): string {
  if (fileId === undefined) throw new TypeError(`${address} has no file id`);
  return fileResource(targetAt(address, fileId));
}

/** What is left of a replacement whose old file another entry has taken over. */
function creationOf({ confirmed: _, ...change }: ReplaceChange): CreateChange {
  return { ...change, action: "create", before: null, had_file: true };
}

/** The second half of a replacement. */
function detachmentOf(change: ReplaceChange): DeleteChange {
  const { before, confirmed } = change;
  return {
    address: fileOf(change, before),
    action: "delete",
    reason: "content_changed",
    before: orderState({ ...before, address: before.address ?? change.address }),
    after: null,
    attributes: [],
    completes_replace: true,
    ...(confirmed === undefined ? {} : { confirmed }),
  };
}

/** What an earlier run uploaded is not uploaded again. */
function withKnownUpload(change: Change, known: (after: AttachmentState) => AttachmentState): Change {
  if (change.action !== "create" && change.action !== "replace") return change;
  return { ...change, after: orderState(known(change.after)) };
}
