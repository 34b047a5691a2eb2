import type { Diagnostic } from "../model/diagnostic.ts";
import type { Plan } from "../model/plan.ts";
import type { Recorded } from "../model/recorded.ts";
import { countActions, type NarrowedPlan, narrowPlan } from "./policy.ts";

/** The origin of the embedded sandbox, which has no earlier life: its data is next to the ledger. */
const embedded = "sandbox";

/** Whether no person has confirmed yet that nothing was published before this ledger. */
export function isNewLedger({ isConfirmed }: Pick<Recorded, "isConfirmed">, serviceOrigin: string): boolean {
  return !isConfirmed && serviceOrigin !== embedded;
}

/**
 * Leaves publishes and duplicates out of a plan while its ledger is new: it may not know of those made before it. Pure. A
 * warning says how many, and how to include them.
 */
export function excludeIrreversible(plan: Plan): NarrowedPlan {
  const excluded = plan.changes.filter(({ action }) => action === "publish" || action === "duplicate");
  if (excluded.length === 0) return { plan, excluded: {} };
  const [first] = excluded;
  const warning: Diagnostic = {
    severity: "warning",
    code: "new-ledger",
    message: `the ledger is new: ${excluded.length === 1 ? "1 change that cannot be undone is" : `${excluded.length} changes that cannot be undone are`} left out`,
    hint: `If nothing was published before: draftsync apply --new-ledger. If something was: draftsync resolve ${first?.address} --product-id ID, or set \`state\` to the ledger that recorded it.`,
  };
  const leaving = new Set(excluded);
  const kept = plan.changes.filter((change) => !leaving.has(change));
  return { plan: narrowPlan(plan, kept, [warning]), excluded: countActions(excluded) };
}
