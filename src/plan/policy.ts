import type { Change } from "../model/change.ts";
import { isDeletion, isProtectChange } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Plan } from "../model/plan.ts";
import { sortDiagnostics, summarize } from "./build-plan.ts";
import { digestOf } from "./canonical-json.ts";
import { stillRemoved } from "./declared.ts";
import { basisOf, estimateCost } from "./estimate.ts";
import { describeRemoved, draftOf } from "./safety.ts";

/** What a policy can allow, in the order in which it is told. */
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

/** How many changes are held back, by what would have to be allowed. Only actions that occur are present. */
export type ExcludedCounts = Readonly<Partial<Record<PolicyAction, number>>>;

/** What a policy leaves of a plan. */
export interface NarrowedPlan {
  /** Itself a plan: its summary, estimate and `plan_id` are of what is left. */
  readonly plan: Plan;
  readonly excluded: ExcludedCounts;
}

/**
 * Leaves only those changes of a plan that a policy allows, and that do not wait for one it does not. Pure. A warning for
 * each action says how much is held back; nothing of it is lost, since the next plan shows it again.
 *
 * What changes nothing at the service that was not asked for before is always allowed: recording what is attached already
 * (`adopt`), keeping a draft's protection, and finding out about a doubt. Lifting a protection is allowed as `delete` is:
 * deleting is what it is for.
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

/** Leaves the deletes of drafts that are no longer declared out of a plan. Pure. A warning names the drafts. */
export function excludeRemovedDrafts(plan: Plan): NarrowedPlan {
  const removed = new Set(plan.removed_drafts.map(({ address }) => address));
  if (removed.size === 0) return { plan, excluded: {} };
  const excluded = plan.changes.filter(
    (change) => change.action === "delete" && removed.has(`drafts/${draftOf(change)}`),
  );
  const leaving = new Set<Change>(excluded);
  const warning: Diagnostic = {
    severity: "warning",
    code: "removed-drafts-excluded",
    message: `${describeRemoved(plan.removed_drafts)}; their files stay`,
    hint: "Delete them with `draftsync apply --remove-drafts`, stop managing them with `draftsync state rm`, or restore their documents.",
  };
  const kept = plan.changes.filter((change) => !leaving.has(change));
  return { plan: narrowPlan(plan, kept, [warning]), excluded: countActions(excluded) };
}

/** The plan with these of its changes alone, and further diagnostics. */
export function narrowPlan(plan: Plan, changes: readonly Change[], further: readonly Diagnostic[]): Plan {
  const { plan_id: _of, ...rest } = {
    ...plan,
    summary: summarize(changes, plan.summary.noop ?? 0),
    estimate: estimateCost(changes, basisOf(plan.estimate)),
    removed_drafts: stillRemoved(changes, plan),
    changes,
    diagnostics: sortDiagnostics([...plan.diagnostics, ...further]),
  };
  const { format_version, ...others } = rest;
  return { format_version, plan_id: digestOf(rest), ...others };
}

/** What a policy has to allow for this change; `undefined` when it is always allowed. */
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
 * What may not be carried out without the changes that are held back (model/stage.ts): nothing is detached from a draft
 * before all of it is attached, nothing is published before all of it is done, and "the product of draft D" cannot be
 * duplicated before it is published.
 */
function excludeDependents(changes: readonly Change[], refused: ReadonlySet<Change>): readonly Change[] {
  const first = new Map<number, number>();
  for (const change of refused) {
    const draftId = draftOf(change);
    first.set(draftId, Math.min(first.get(draftId) ?? Number.POSITIVE_INFINITY, rankOf(change)));
  }
  const waiting = changes.filter(
    (change) =>
      !refused.has(change) && rankOf(change) > (first.get(draftOf(change)) ?? Number.POSITIVE_INFINITY),
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
  return [...waiting, ...orphans];
}

/** The place of a change in the order of its draft. */
function rankOf(change: Change): number {
  switch (change.action) {
    case "create":
    case "in_doubt":
      return ranks.attach;
    case "update":
      // Lifting a protection only ever comes before a deletion.
      if (isProtectChange(change)) return change.after.protect ? ranks.ledger : ranks.detach;
      return ranks.attach;
    case "delete":
    case "replace":
      return ranks.detach;
    case "publish":
      return ranks.publish;
    case "adopt":
    case "duplicate":
    case "forget":
      return ranks.ledger;
  }
}

const ranks = { ledger: 0, attach: 1, detach: 2, publish: 3 } as const;

/** How many changes there are of each action that a policy can allow. */
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
  message: `${changes(count)} held back: the policy does not allow ${action}`,
  hint: `Carry out what is left with \`draftsync apply\`, or add ${action} to reconcile.allow in draftsync.yaml.`,
});

const notAlone: MakeWarning = (action, count) => ({
  severity: "warning",
  code: "excluded-with-dependency",
  message: `${changes(count)} held back with what must come before: ${action}`,
  hint: "Nothing is detached before all of a draft is attached, nothing published before all of it is done, and nothing duplicated before it is published.",
});

function changes(count: number): string {
  return count === 1 ? "1 change is" : `${count} changes are`;
}
