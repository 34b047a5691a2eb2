import { formatAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import type { Ledger } from "../model/ports.ts";

/**
 * What failed before, sorted by when it did, and what did not. So what is refused or lost in every run cannot use up what limits
 * each of them.
 */
export async function byLatestFailure<T extends { readonly changes: readonly Change[] }>(
  works: readonly T[],
  ledger: Pick<Ledger, "failures">,
): Promise<{ readonly fresh: readonly T[]; readonly failed: readonly T[] }> {
  const failures = await ledger.failures();
  if (failures.size === 0) return { fresh: works, failed: [] };
  const failedAt = ({ changes }: T) =>
    changes.flatMap(addressesOf).reduce((latest, address) => Math.max(latest, failures.get(address) ?? 0), 0);
  const timed = works.map((work) => ({ work, at: failedAt(work) }));
  const failed = timed.filter(({ at }) => at > 0).sort((a, b) => a.at - b.at);
  return {
    fresh: timed.filter(({ at }) => at === 0).map(({ work }) => work),
    failed: failed.map(({ work }) => work),
  };
}

/** Of a change and of the upload that it needs. */
function addressesOf({ address, after }: Change): string[] {
  if (after === null || !("source" in after) || after.source === undefined) return [address];
  return [address, formatAddress({ type: "upload", source: after.source })];
}
