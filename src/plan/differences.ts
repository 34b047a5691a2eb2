import { type Action, actions } from "../model/action.ts";
import { compareText, parseAddress } from "../model/address.ts";
import { type Change, draftOf } from "../model/change.ts";
import type { Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Plan, RemovedDraft, Summary, UnmanagedList } from "../model/plan.ts";
import { type FileTarget, fileKinds } from "../model/resource.ts";

/** What one kind of resource contributes to a plan. */
export interface Differences {
  readonly changes: readonly Change[];
  /** Addresses that are as desired. */
  readonly unchanged: readonly string[];
  /** Addresses of recorded files whose draft is declared without their list: they stay. */
  readonly unmanaged?: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Several contributions as one. */
export function mergeDifferences(parts: readonly Differences[]): Differences {
  return {
    changes: parts.flatMap((part) => part.changes),
    unchanged: parts.flatMap((part) => part.unchanged),
    unmanaged: parts.flatMap((part) => part.unmanaged ?? []),
    diagnostics: parts.flatMap((part) => part.diagnostics),
  };
}

/** How many changes of each action there are, beside `unchanged` things that are as desired. */
export function summarize(changes: readonly Change[], unchanged: number): Summary {
  const counts = new Map<Action, number>();
  for (const change of changes) counts.set(change.action, (counts.get(change.action) ?? 0) + 1);
  if (unchanged > 0) counts.set("noop", unchanged);
  return Object.fromEntries(actions.flatMap((action) => entry(action, counts.get(action))));
}

function entry(action: Action, count: number | undefined): [Action, number][] {
  return count === undefined ? [] : [[action, count]];
}

/** In the order of a plan: by weight, then by place and address. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const keyed = diagnostics.map((diagnostic) => ({ diagnostic, key: sortKey(diagnostic) }));
  return keyed.sort((a, b) => compareText(a.key, b.key)).map(({ diagnostic }) => diagnostic);
}

function sortKey({ severity, address, place, code, message }: Diagnostic): string {
  const pad = (n: number | undefined) => String(n ?? 0).padStart(9, "0");
  const rank = { error: 0, warning: 1, info: 2 }[severity];
  return [rank, place?.file ?? "", pad(place?.line), pad(place?.column), address ?? "", code, message].join(
    "\0",
  );
}

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
