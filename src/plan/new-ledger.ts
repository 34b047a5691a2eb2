import { quoteArgument } from "../model/address.ts";
import { type Change, draftOf, maybePublishedHint, type PublishChange } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Plan } from "../model/plan.ts";
import type { Recorded } from "../model/recorded.ts";
import { applyDrift } from "./apply-drift.ts";
import { countActions, excludeDependents, type NarrowedPlan, narrowPlan } from "./policy.ts";

/** The origin of the embedded sandbox, which has no earlier life: its data is next to the ledger. */
const embedded = "sandbox";

/** Whether no person has confirmed yet that nothing was published before this ledger. */
export function isNewLedger({ isConfirmed }: Pick<Recorded, "isConfirmed">, serviceOrigin: string): boolean {
  return !isConfirmed && serviceOrigin !== embedded;
}

/** A plan without the changes that may exist already, and the warnings that say why. */
export interface SafePlan extends NarrowedPlan {
  /** One for a new ledger, and one for each draft that may be published. */
  readonly warnings: readonly Diagnostic[];
}

/**
 * Leaves out of a plan what this ledger may not know of: publishes and duplicates while it is new, and always the publish of
 * a draft that was in use before it. Pure.
 */
export function excludeIrreversible(
  plan: Plan,
  recorded: Recorded,
  { isNew }: { readonly isNew: boolean },
): SafePlan {
  const known = applyDrift(recorded, plan.drift ?? []);
  const maybePublished = plan.changes.filter((change) => isMaybePublished(change, known));
  const excluded = isNew
    ? plan.changes.filter(({ action }) => action === "publish" || action === "duplicate")
    : [...maybePublished, ...excludeDependents(plan.changes, new Set(maybePublished))];
  if (excluded.length === 0) return { plan, excluded: {}, warnings: [] };
  const newLedger = isNew ? [newLedgerWarning(excluded)] : [];
  const leaving = new Set(excluded);
  const kept = plan.changes.filter((change) => !leaving.has(change));
  return {
    plan: narrowPlan(plan, kept, newLedger),
    excluded: countActions(excluded),
    warnings: [...newLedger, ...maybePublishedWarnings(plan.changes, known)],
  };
}

function newLedgerWarning(excluded: readonly Change[]): Diagnostic {
  const [first] = excluded;
  return {
    severity: "warning",
    code: "new-ledger",
    message: `the ledger is new or restored: ${excluded.length === 1 ? "1 change that cannot be undone is" : `${excluded.length} changes that cannot be undone are`} left out`,
    hint: `If it lacks nothing that this workspace has published or duplicated: draftsync apply --new-ledger. If it lacks any: first draftsync resolve ${quoteArgument(first?.address ?? "")} --product-id ID for each product, or set \`state\` to the ledger that recorded it.`,
  };
}

/** A warning for each publish that is left out because its draft was in use before the ledger. */
export function maybePublishedWarnings(
  changes: readonly Change[],
  recorded: Pick<Recorded, "maybePublished">,
): readonly Diagnostic[] {
  return changes.filter((change) => isMaybePublished(change, recorded)).map(describeMaybePublished);
}

/** The warning for one draft: what was found, and the two commands that settle it. */
function describeMaybePublished(change: PublishChange): Diagnostic {
  const { address } = change;
  return {
    severity: "warning",
    code: "maybe-published",
    message: `${address} is left out: draft ${draftOf(change)} was used by calls that this ledger does not have as done, so it may be published as well`,
    hint: maybePublishedHint(change),
    address,
  };
}

/** Whether a change publishes a draft of which a file was attached by a call that is not in the ledger, since its last publication. */
export function isMaybePublished(
  change: Change,
  { maybePublished }: Pick<Recorded, "maybePublished">,
): change is PublishChange {
  return change.action === "publish" && maybePublished.has(draftOf(change));
}
