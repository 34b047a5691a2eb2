import { stages } from "../model/action.ts";
import { draftIdOf } from "../model/address.ts";
import type { Change, InDoubtChange } from "../model/change.ts";
import { draftOf, isBlocked, isDeletion, isProtectChange, stagesOf } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Plan } from "../model/plan.ts";
import { waitingDrafts } from "../model/waiting.ts";
import { sortDiagnostics, stillRemoved, summarize } from "./differences.ts";
import { digestOf } from "./digest.ts";
import { basisOf, estimateCost } from "./estimate.ts";
import { isWaitedFor } from "./exclude-waiting.ts";
import { describeForgotten, describeRemoved } from "./safety.ts";

/** The actions a policy can allow, in the order of the report. */
export const policyActions = [
  "create",
  "update",
  "replace",
  "delete",
  "publish",
  "duplicate",
  "forget",
] as const;

/** One of {@link policyActions}. */
export type PolicyAction = (typeof policyActions)[number];

/** The number of excluded changes by the action the policy would have to allow. Only actions that occur are present. */
export type ExcludedCounts = Readonly<Partial<Record<PolicyAction, number>>>;

/** A plan without the changes that a policy excludes. */
export interface NarrowedPlan {
  /** A plan of its own: summary, estimate and `plan_id` cover the remaining changes. */
  readonly plan: Plan;
  readonly excluded: ExcludedCounts;
}

/**
 * Excludes the changes that a policy does not allow, and the changes that depend on them. Pure. One warning per action
 * counts the excluded changes; the next plan shows them again.
 *
 * Changes that send nothing new are always allowed: `adopt`, keeping a protection, settling a doubt. Lifting a protection
 * needs `delete`, because deletion is its purpose.
 */
export function excludeByPolicy(plan: Plan, allowed: ReadonlySet<PolicyAction>): NarrowedPlan {
  const refused = plan.changes.filter((change) => {
    const action = neededFor(change);
    return action !== undefined && !allowed.has(action);
  });
  const waiting = excludeDependents(plan.changes, new Set(refused));
  if (refused.length === 0) return { plan, excluded: {} };
  const held = new Set([...refused, ...waiting]);
  const changes = plan.changes.filter((change) => !held.has(change));
  const byPolicy = countActions(refused);
  const byOrder = countActions(waiting);
  const warnings = [...warningsFor(byPolicy, notAllowed), ...warningsFor(byOrder, notAlone)];
  return {
    plan: narrowPlan(plan, changes, warnings),
    excluded: countActions([...refused, ...waiting]),
  };
}

/**
 * Excludes the deletes of drafts, and the forgetting of duplicates, that are no longer declared. Pure. A warning names the
 * drafts, and one the duplicates.
 */
export function excludeRemoved(plan: Plan): NarrowedPlan {
  const removed = new Set(plan.removed_drafts.map(({ address }) => address));
  const forgotten = plan.changes.filter(({ action }) => action === "forget");
  const deletes = plan.changes.filter(
    (change) => change.action === "delete" && removed.has(`drafts/${draftOf(change)}`),
  );
  const copies = formerCopies(plan.changes, forgotten);
  const excluded = [...deletes, ...forgotten, ...copies];
  if (excluded.length === 0) return { plan, excluded: {} };
  const leaving = new Set<Change>(excluded);
  const warnings: Diagnostic[] = [];
  if (deletes.length > 0)
    warnings.push({
      severity: "warning",
      code: "removed-drafts-excluded",
      message: `${describeRemoved(plan.removed_drafts)}; their files stay`,
      hint: "Delete them with `draftsync apply --remove-drafts`, stop managing them with `draftsync state rm`, or restore their documents.",
    });
  if (forgotten.length > 0)
    warnings.push({
      severity: "warning",
      code: "removed-duplicates-excluded",
      message:
        `${describeForgotten(forgotten)} no longer declared; not forgotten without consent` +
        (copies.length === 0 ? "" : `, nor copied under another name: ${copies[0]?.address}`),
      hint: "If an entry was renamed: `draftsync state mv`. Otherwise restore the entries, or forget them with `draftsync apply --remove-drafts` or `draftsync state rm`.",
    });
  const kept = plan.changes.filter((change) => !leaving.has(change));
  return { plan: narrowPlan(plan, kept, warnings), excluded: countActions(excluded) };
}

/**
 * The plan reduced to these changes and what the others leave in doubt, with further diagnostics. Without what a draft's other changes wait for, there is no next
 * plan that has them.
 */
export function narrowPlan(plan: Plan, changes: readonly Change[], further: readonly Diagnostic[]): Plan {
  const due = new Set(changes.filter(isWaitedFor).map((change) => `drafts/${draftOf(change)}`));
  const endless = new Set(waitingDrafts(plan, ["change"]).filter(({ address = "" }) => !due.has(address)));
  const kept = plan.diagnostics.filter((diagnostic) => !endless.has(diagnostic));
  const remaining = new Set(changes);
  const left = plan.changes.flatMap((change): readonly Change[] =>
    remaining.has(change) ? [change] : leftInDoubt(change),
  );
  const { plan_id: _of, ...rest } = {
    ...withChanges(plan, left),
    diagnostics: sortDiagnostics([...kept, ...further]),
  };
  const { format_version, ...others } = rest;
  return { format_version, plan_id: digestOf(rest), ...others };
}

/** The doubt that a change would have settled: left out, it is for a person to settle. */
function leftInDoubt({ doubt, confirmed: _, ...change }: Change): readonly InDoubtChange[] {
  if (doubt === undefined) return [];
  return [
    { ...change, action: "in_doubt", reason: "outcome_unknown", before: doubt, after: null, attributes: [] },
  ];
}

/** The plan with only some of its changes, under the same `plan_id`; summary, estimate and removed drafts cover these. */
export function withChanges(plan: Plan, changes: readonly Change[]): Plan {
  return {
    ...plan,
    summary: summarize(changes, plan.summary.noop ?? 0),
    estimate: estimateCost(changes, basisOf(plan.estimate)),
    removed_drafts: stillRemoved(changes, plan),
    changes,
  };
}

/** The action a policy has to allow for this change; `undefined` if it is always allowed. */
function neededFor(change: Change): PolicyAction | undefined {
  switch (change.action) {
    case "adopt":
    case "in_doubt":
      return undefined;
    case "update":
      if (!isProtectChange(change)) return "update";
      return change.after.protect ? undefined : "delete";
    case "delete":
      return isDeletion(change) ? "delete" : "replace";
    default:
      return change.action;
  }
}

/**
 * Changes that depend on refused ones (apply/draft-run.ts): a draft detaches files after it attached all of its files, publishes
 * after every other change, and "the product of draft D" exists only after its publish.
 */
export function excludeDependents(
  changes: readonly Change[],
  refused: ReadonlySet<Change>,
): readonly Change[] {
  const first = new Map<number, number>();
  for (const change of refused) {
    const draftId = draftIdOf(change.address);
    if (draftId === undefined) continue;
    first.set(draftId, Math.min(first.get(draftId) ?? Number.POSITIVE_INFINITY, rankOf(change)));
  }
  // What is left to a person is shown, whatever is excluded.
  const waiting = changes.filter(
    (change) =>
      !refused.has(change) &&
      !isBlocked(change) &&
      rankOf(change) > (first.get(draftOf(change)) ?? Number.POSITIVE_INFINITY),
  );
  const unpublished = new Set(
    [...refused, ...waiting].filter(({ action }) => action === "publish").map(draftOf),
  );
  const orphans = changes.filter(
    (change) =>
      change.action === "duplicate" &&
      !refused.has(change) &&
      change.after.product_id === undefined &&
      change.after.draft_id !== undefined &&
      unpublished.has(change.after.draft_id),
  );
  const forgotten = [...refused].filter(({ action }) => action === "forget");
  const copies = formerCopies(changes, forgotten).filter((change) => !refused.has(change));
  return [...new Set([...waiting, ...orphans, ...copies])];
}

/** Copies that may exist already, under the names of copies that are not forgotten. */
function formerCopies(changes: readonly Change[], forgotten: readonly Change[]): readonly Change[] {
  const names = new Set(forgotten.map(({ address }) => address));
  return changes.filter((change) => change.action === "duplicate" && names.has(change.former ?? ""));
}

/** The stage after which a change is complete, by its place in the order; a protection is only lifted before a deletion. */
function rankOf(change: Change): number {
  if (isProtectChange(change) && !change.after.protect) return stages.indexOf("detach");
  const last = stagesOf(change).at(-1) ?? "attach";
  // Nothing in a draft waits for a copy.
  return stages.indexOf(last === "duplicate" ? "ledger" : last);
}

/** Counts the changes by the action that a policy has to allow. */
export function countActions(changes: readonly Change[]): ExcludedCounts {
  const counts = new Map<PolicyAction, number>();
  for (const change of changes) {
    const action = neededFor(change);
    if (action !== undefined) counts.set(action, (counts.get(action) ?? 0) + 1);
  }
  return Object.fromEntries(
    policyActions.flatMap((action) => {
      const count = counts.get(action);
      return count === undefined ? [] : [[action, count]];
    }),
  );
}

type MakeWarning = (action: PolicyAction, count: number) => Diagnostic;

function warningsFor(counts: ExcludedCounts, makeWarning: MakeWarning): Diagnostic[] {
  return policyActions.flatMap((action) => {
    const count = counts[action];
    return count === undefined ? [] : [makeWarning(action, count)];
  });
}

const notAllowed: MakeWarning = (action, count) => ({
  severity: "warning",
  code: "excluded-by-policy",
  message: `${changes(count)} excluded: the policy does not allow ${action}`,
  hint: `Apply the rest with \`draftsync apply\`, or add ${action} to reconcile.allow in draftsync.yaml.`,
});

const notAlone: MakeWarning = (action, count) => ({
  severity: "warning",
  code: "excluded-with-dependency",
  message: `${changes(count)} excluded with a change it depends on: ${action}`,
  hint: "A draft detaches files after it attached all of its files, publishes after every other change, and is duplicated after it is published.",
});

function changes(count: number): string {
  return count === 1 ? "1 change is" : `${count} changes are`;
}
