import { DraftsyncError } from "../model/errors.ts";
import type { LedgerOwner } from "../model/ports.ts";
import { belongsTo, type RecordedOwner } from "../model/recorded.ts";

/** A ledger with a different owner, or a saved plan that cannot be used: unreadable, altered, from a different version, or stale. */
export class PlanError extends DraftsyncError {
  override readonly name = "PlanError";
}

/**
 * Refuses to plan with, or to open a client next to, the ledger of a different service or workspace: its records would be
 * deleted at the wrong service, and the key would be sent to an address that only the config names. A ledger without an
 * owner accepts any. Throws {@link PlanError} `ledger-owner-mismatch`.
 */
export function assertOwner(recorded: RecordedOwner, owner: LedgerOwner): void {
  if (belongsTo(recorded, owner)) return;
  const { serviceOrigin, workspace } = recorded;
  throw new PlanError(
    `the ledger belongs to workspace ${workspace}${serviceOrigin === undefined ? "" : ` at ${serviceOrigin}`}, and this is ${owner.workspace} at ${owner.origin}`,
    {
      code: "ledger-owner-mismatch",
      hint:
        workspace === owner.workspace
          ? "Correct the address (`base_url`), or set `state` to another ledger. Only if the service of this ledger has moved: `draftsync state rebind`."
          : "Name the workspace of this ledger in the config, or set `state` to another ledger.",
    },
  );
}
