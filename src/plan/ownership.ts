import type { LedgerOwner } from "../model/ports.ts";
import type { RecordedOwner } from "../model/recorded.ts";
import { PlanError } from "./plan-error.ts";

/**
 * Refuses to plan with, or to open a client next to, the ledger of another service or workspace: its records would be
 * deleted at the wrong service, and the key would be sent to an address that only the config names. A ledger without an
 * owner accepts any. Throws {@link PlanError} `ledger-of-another`.
 */
export function assertOwner({ serviceOrigin, workspace }: RecordedOwner, owner: LedgerOwner): void {
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
