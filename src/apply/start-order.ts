import { formatAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import type { Ledger } from "../model/ports.ts";

/**
 * What may start, in the order in which it does: first what has not failed, then what failed longest ago. So what is refused
 * or lost in every run cannot use up what limits each of them.
 */
export async function byLatestFailure<T extends { readonly changes: readonly Change[] }>(
  works: readonly T[],
  ledger: Pick<Ledger, "failures">,
): Promise<readonly T[]> {
  const failures = await ledger.failures();
  const failedAt = ({ changes }: T) =>
    Math.max(0, ...changes.flatMap(addressesOf).map((address) => failures.get(address) ?? 0));
  const times = new Map(works.map((work) => [work, failedAt(work)]));
  return works.toSorted((a, b) => (times.get(a) ?? 0) - (times.get(b) ?? 0));
}

/** Of a change and of the upload that it needs. */
function addressesOf({ address, after }: Change): string[] {
  if (after === null || !("source" in after) || after.source === undefined) return [address];
  return [address, formatAddress({ type: "upload", source: after.source })];
}
