import { compareText, draftIdOf, publicationAddress } from "../model/address.ts";
import {
  type AttachmentState,
  type Change,
  type DeleteChange,
  orderState,
  type ReplaceChange,
} from "../model/change.ts";
import { append } from "../model/lists.ts";
import type { Plan, PlanBasis } from "../model/plan.ts";
import { publicationsInForce, type Recorded } from "../model/recorded.ts";
import { inDoubtChange, isCopyOf } from "./doubts.ts";
import { namesOfPlan } from "./names.ts";
import {
  areAsLeft,
  fileOf,
  isInEffect,
  isWrittenByOthers,
  makeProgressFinder,
  type PlanHistory,
  type Tracked,
  takeBack,
} from "./plan-progress.ts";
import { withChanges } from "./policy.ts";
import {
  basisAddress,
  type DraftState,
  digestOfDraft,
  draftStatesOf,
  makeOtherDigest,
} from "./recorded-digest.ts";
import { makeKnownUploads } from "./recorded-index.ts";

/** What is left of a plan, or what of it is stale. */
export type Resumption =
  | {
      readonly type: "fresh";
      /** The changes that are left, under the `plan_id` of the whole plan: they are a part of what was reviewed. */
      readonly plan: Plan;
      /** How many changes earlier runs completed. */
      readonly done: number;
    }
  | { readonly type: "stale"; readonly addresses: readonly string[] };

/**
 * What is left of a plan, given what its earlier runs did. Pure.
 *
 * The plan is stale where the ledger records something else than it did when the plan was made, and then some:
 *
 * ```
 *   recorded now ── take back what this plan's runs completed ──► digest ── equals the plan's? ──► fresh
 *        │
 *        └── what they completed must be there exactly as they left it, and no other run may have written to the draft since
 * ```
 *
 * So a change is applied once, however often the plan is: what its runs completed is not in the rest, and where that is no
 * longer recorded the plan is stale.
 */
export function resumePlan(plan: Plan, recorded: Recorded, history: PlanHistory): Resumption {
  const progressOf = makeProgressFinder(plan.changes, history, recorded.inDoubt);
  const groups = new Map<string, Tracked[]>();
  for (const change of plan.changes) {
    append(groups, basisAddress(change), { change, progress: progressOf(change) });
  }
  const context = { plan, recorded, history };
  const draftIds = new Set(plan.base.resources.flatMap(({ address }) => draftIdOf(address) ?? []));
  const states = draftStatesOf(recorded, draftIds);
  const otherDigest = makeOtherDigest(recorded, history.runIds);
  const stale: string[] = [];
  const rest: Change[] = [];
  let done = 0;
  const withoutDrift = new Set<string>();
  for (const basis of plan.base.resources) {
    const tracked = groups.get(basis.address) ?? [];
    const state = states.get(draftIdOf(basis.address) ?? 0);
    const left =
      state === undefined
        ? resumeOther(basis, tracked, { ...context, digest: otherDigest(basis.address) })
        : resumeDraft(basis, tracked, { ...context, state });
    if (left === "stale") stale.push(basis.address);
    else {
      rest.push(...left.changes);
      done += left.done;
      if (left.isDriftRecorded) withoutDrift.add(basis.address);
    }
  }
  if (stale.length > 0) return { type: "stale", addresses: stale };
  if (rest.length === plan.changes.length && withoutDrift.size === 0 && history.runIds.size === 0)
    return { type: "fresh", plan, done: 0 };
  const known = makeKnownUploads(recorded);
  const nameOf = namesOfPlan(plan);
  const named = (change: Change): Change => ({ ...change, ...nameOf(change.address) });
  const changes = rest
    .map((change) => named(withKnownUpload(change, known)))
    .sort((a, b) => compareText(a.address, b.address));
  const drift = plan.drift?.filter((each) => !withoutDrift.has(basisAddress(each)));
  return { type: "fresh", plan: { ...withChanges(plan, changes), ...(drift && { drift }) }, done };
}

interface Context {
  readonly plan: Plan;
  readonly recorded: Recorded;
  readonly history: PlanHistory;
}

type Left =
  | "stale"
  | { readonly changes: readonly Change[]; readonly done: number; readonly isDriftRecorded: boolean };

function resumeDraft(
  { address, digest, digest_with_drift: withDrift = digest }: PlanBasis,
  tracked: readonly Tracked[],
  { state, recorded, history }: Context & { readonly state: DraftState },
): Left {
  const isStarted = tracked.some(({ progress }) => progress.type !== "open");
  if (!areAsLeft(tracked, state)) return "stale";
  if (isStarted && isWrittenByOthers(address, history)) return "stale";
  const now = digestOfDraft(takeBack(tracked, state, { recorded, history, address }));
  const hasRun = history.runIds.size > 0;
  const isDriftRecorded = hasRun && now === withDrift;
  if (!isDriftRecorded && (isStarted || now !== digest)) return "stale";
  const rests = tracked.map((each) => (hasRun && isInEffect(each, state) ? [] : restOf(each)));
  return { changes: rests.flat(), done: rests.filter((rest) => rest.length === 0).length, isDriftRecorded };
}

/** What is left of one change. */
function restOf({ change, progress }: Tracked): readonly Change[] {
  switch (progress.type) {
    case "open":
      return [change];
    case "done":
      return [];
    case "attached":
      return change.action === "replace" ? [detachmentOf(change)] : [];
    case "in_doubt": {
      const { operation } = progress;
      const { fileId } = operation.intent;
      if (change.action === "publish" || change.action === "duplicate" || fileId === undefined)
        return [inDoubtChange(operation)];
      if (change.action === "in_doubt") return [inDoubtChange(operation, change.after, change.undeclared)];
      if (change.action !== "create" && change.action !== "replace") return [change];
      const settling = inDoubtChange(operation, orderState({ ...change.after, file_id: fileId }));
      return change.action === "create" ? [settling] : [settling, detachmentOf(change)];
    }
  }
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

function resumeOther(
  { digest }: PlanBasis,
  tracked: readonly Tracked[],
  context: Context & { readonly digest: string },
): Left {
  const { digest: now, recorded, history } = context;
  const changes: Change[] = [];
  for (const each of tracked) {
    const { change, progress } = each;
    const name = change.address.slice("duplicates/".length);
    const isRecorded = recorded.duplicates.some((duplicate) => duplicate.name === name);
    if (change.action === "duplicate" && progress.type === "done") {
      if (!isRecorded) return "stale";
      continue;
    }
    if (change.action === "forget" && history.runIds.size > 0 && !isRecorded) continue;
    if (now !== digest || isMaybeCopied(change, context)) return "stale";
    const [rest] = restOf(each);
    const ready = rest === undefined ? undefined : withSource(rest, context);
    if (ready === "stale") return "stale";
    if (ready !== undefined) changes.push(ready);
  }
  return { changes, done: tracked.length - changes.length, isDriftRecorded: false };
}

/** A call in doubt that the plan does not know of may have made the same copy under another name. */
function isMaybeCopied(change: Change, { plan, recorded, history }: Context): boolean {
  if (change.action !== "duplicate") return false;
  const known = new Set(plan.changes.map(({ address }) => address));
  return recorded.inDoubt.some(
    (doubt) =>
      doubt.kind === "duplicate" &&
      !known.has(doubt.address) &&
      !history.runIds.has(doubt.runId) &&
      isCopyOf(doubt, change.after),
  );
}

/** A copy of a draft's product is of the product in force: the planned one, or the one that this plan published. */
function withSource(change: Change, { plan, recorded }: Context): Change | "stale" {
  if (change.action !== "duplicate" || change.after.draft_id === undefined) return change;
  const { product_id, draft_id } = change.after;
  const { productId, revision } = publicationsInForce(recorded).get(draft_id) ?? {};
  if (product_id !== undefined) return product_id === productId ? change : "stale";
  const planned = plan.changes.find(({ address }) => address === publicationAddress(draft_id));
  const isOpen = planned?.action === "publish" && planned.after.revision !== revision;
  return productId === undefined || isOpen
    ? change
    : { ...change, after: { product_id: productId, draft_id } };
}

/** What an earlier run uploaded is not uploaded again. */
function withKnownUpload(change: Change, known: (after: AttachmentState) => AttachmentState): Change {
  if (change.action !== "create" && change.action !== "replace") return change;
  return { ...change, after: orderState(known(change.after)) };
}
