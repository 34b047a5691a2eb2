import type { LedgerOwner } from "../model/ports.ts";
import type { Recorded } from "../model/recorded.ts";
import { PlanError } from "./plan-error.ts";

/**
 * Refuses to plan with the ledger of another service or workspace: what it holds would be detached or taken for there.
 * Throws {@link PlanError} `ledger-of-another`. A ledger that belongs to nobody yet is anybody's.
 */
export function assertOwner({ serviceOrigin, workspace }: Recorded, owner: LedgerOwner): void {
  const otherService = serviceOrigin !== undefined && serviceOrigin !== owner.origin;
  const otherWorkspace = workspace !== undefined && workspace !== owner.workspace;
  if (!otherService && !otherWorkspace) return;
  throw new PlanError(
    `the ledger belongs to workspace ${workspace} at ${serviceOrigin}, and this is ${owner.workspace} at ${owner.origin}`,
    {
      code: "ledger-of-another",
      hint: "Name the service and the workspace of this ledger in the config, or set `state` to another ledger.",
    },
  );
}
