import { compareText, wholeAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import type { Drift } from "../model/drift.ts";
import { append } from "../model/lists.ts";
import type { PlanBasis } from "../model/plan.ts";
import { formatVersion, type Recorded, type RecordedOperation } from "../model/recorded.ts";

/** What the ledger recorded for everything that a plan changes or reports drift of, sorted by address. */
export function basesOf(
  { changes, drift }: { readonly changes: readonly Change[]; readonly drift: readonly Drift[] },
  { versions, inDoubt }: Recorded,
): readonly PlanBasis[] {
  const items = [...changes, ...drift.filter(({ type }) => type !== "product_gone")];
  const addresses = [...new Set(items.map(({ address }) => wholeAddress(address)))].sort(compareText);
  const doubts = doubtsByResource(inDoubt);
  return addresses.map((address) => {
    const version = versions.get(address);
    const ids = doubts.get(address)?.map(({ id }) => id);
    return {
      address,
      ...(version === undefined ? {} : { version: formatVersion(version) }),
      ...(ids === undefined ? {} : { in_doubt: ids.sort(compareText) }),
    };
  });
}

/** Makes the test whether only the plan has changed what a basis is about. `runIds` are of the runs of the plan. */
export function makeFreshTest(
  planId: string,
  { versions, inDoubt }: Recorded,
  runIds: ReadonlySet<string>,
): (basis: PlanBasis) => boolean {
  const doubts = doubtsByResource(inDoubt.filter(({ runId }) => !runIds.has(runId)));
  return ({ address, version, in_doubt: known = [] }) => {
    const current = versions.get(address);
    const isOwn = current?.changedBy === planId;
    const others = isOwn || current === undefined ? current?.before : formatVersion(current);
    return others === version && (doubts.get(address) ?? []).every(({ id }) => known.includes(id));
  };
}

function doubtsByResource(inDoubt: readonly RecordedOperation[]): ReadonlyMap<string, RecordedOperation[]> {
  const byAddress = new Map<string, RecordedOperation[]>();
  for (const operation of inDoubt) append(byAddress, wholeAddress(operation.address), operation);
  return byAddress;
}
