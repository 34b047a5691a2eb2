import { compareText, parseAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import { draftOf } from "../model/change.ts";
import type { Desired } from "../model/desired.ts";
import type { Plan, RemovedDraft, UnmanagedList } from "../model/plan.ts";
import { type FileTarget, fileKinds } from "../model/resource.ts";

/** Whether the manifests leave out the list of a file, so that it stays as it is. */
export type UnmanagedTest = (file: Pick<FileTarget, "draftId" | "kind">) => boolean;

/** Finds recorded files that stay: their draft is declared, and its document leaves out their list. */
export function makeUnmanagedTest({ drafts }: Desired): UnmanagedTest {
  const partial = drafts.filter(({ managed }) => managed.length < fileKinds.length);
  const managedBy = new Map(partial.map(({ draftId, managed }) => [draftId, managed]));
  return ({ draftId, kind }) => managedBy.get(draftId)?.includes(kind) === false;
}

/** Recorded files that stay, by their addresses, counted by list. */
export function countByList(addresses: readonly string[]): readonly UnmanagedList[] {
  const files = new Map<string, number>();
  for (const address of addresses) {
    const parsed = parseAddress(address);
    if (parsed?.type !== "attachment") continue;
    const list = `drafts/${parsed.draftId}/${parsed.kind}`;
    files.set(list, (files.get(list) ?? 0) + 1);
  }
  return [...files]
    .map(([address, count]) => ({ address, files: count }))
    .sort((a, b) => compareText(a.address, b.address));
}

/** The drafts that lose files because no document declares them any more. */
export function removedDrafts(changes: readonly Change[], { drafts }: Desired): readonly RemovedDraft[] {
  const declared = new Set(drafts.map(({ draftId }) => draftId));
  return countDeletes(changes, (draftId) => !declared.has(draftId));
}

/** The removed drafts of a plan of which changes were excluded. */
export function stillRemoved(changes: readonly Change[], { removed_drafts }: Plan): readonly RemovedDraft[] {
  const removed = new Set(removed_drafts.map(({ address }) => address));
  return countDeletes(changes, (draftId) => removed.has(`drafts/${draftId}`));
}

function countDeletes(
  changes: readonly Change[],
  isRemoved: (draftId: number) => boolean,
): readonly RemovedDraft[] {
  const deletes = new Map<number, number>();
  for (const change of changes) {
    if (change.action !== "delete") continue;
    const draftId = draftOf(change);
    if (isRemoved(draftId)) deletes.set(draftId, (deletes.get(draftId) ?? 0) + 1);
  }
  return [...deletes]
    .map(([draftId, count]) => ({ address: `drafts/${draftId}`, deletes: count }))
    .sort((a, b) => compareText(a.address, b.address));
}
