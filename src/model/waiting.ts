import type { Diagnostic } from "./diagnostic.ts";
import type { Plan } from "./plan.ts";

/** What a draft's changes wait for: another change of the plan, a check of its files by another run, or a person. */
type WaitsFor = "change" | "check" | "person";

/** By the code of the warning. */
const waitsFor: ReadonlyMap<string, WaitsFor> = new Map([
  ["waits-for-doubt", "change"],
  ["deletes-excluded", "change"],
  ["waits-for-check", "check"],
  ["waits-for-entry", "person"],
]);

/** The warnings about changes that only a later plan can have, one for each draft and reason; of some causes alone. */
export function waitingDrafts(
  { diagnostics }: Pick<Plan, "diagnostics">,
  causes?: readonly WaitsFor[],
): readonly Diagnostic[] {
  return diagnostics.filter(({ code }) => {
    const cause = waitsFor.get(code);
    return cause !== undefined && (causes === undefined || causes.includes(cause));
  });
}
