import { compareText } from "../model/address.ts";
import type { ProtectChange } from "../model/change.ts";
import type { Desired } from "../model/desired.ts";
import type { Recorded } from "../model/recorded.ts";
import type { Differences } from "./differences.ts";

/**
 * `protect` in the manifests against the ledger. Only drafts that are in a manifest count: to lift the protection
 * of a draft its document has to be there, without `protect`.
 */
export function diffProtection(desired: Desired, recorded: Recorded): Differences {
  const changes = desired.drafts
    .filter(({ draftId, protect }) => protect !== recorded.protectedDrafts.has(draftId))
    .map(
      ({ draftId, protect }): ProtectChange => ({
        address: `drafts/${draftId}`,
        action: "update",
        reason: protect ? "protect" : "unprotect",
        before: { protect: !protect },
        after: { protect },
        attributes: ["protect"],
      }),
    )
    .sort((a, b) => compareText(a.address, b.address));
  return { changes, unchanged: [], diagnostics: [] };
}
