import { publicationAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import { draftOf } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Recorded } from "../model/recorded.ts";

/** A warning for each publish that is left out because its draft was in use before the ledger. */
export function maybePublishedWarnings(
  changes: readonly Change[],
  recorded: Pick<Recorded, "maybePublished">,
): readonly Diagnostic[] {
  return changes
    .filter((change) => isMaybePublished(change, recorded))
    .map((change) => describeMaybePublished(draftOf(change)));
}

/** The warning for one draft: what was found, and the two commands that settle it. */
export function describeMaybePublished(draftId: number): Diagnostic {
  const address = publicationAddress(draftId);
  return {
    severity: "warning",
    code: "maybe-published",
    message: `${address} is left out: files of draft ${draftId} were attached by calls that this ledger does not have as done, so it may be published as well`,
    hint: `If it is published: draftsync resolve ${address} --product-id ID. If it is not: draftsync resolve ${address} --not-done`,
    address,
  };
}

/** Whether a change publishes a draft that was in use before the ledger, which holds no publication of it. */
export function isMaybePublished(
  change: Change,
  { maybePublished }: Pick<Recorded, "maybePublished">,
): boolean {
  return change.action === "publish" && change.before === null && maybePublished.has(draftOf(change));
}
