import { parseAddress } from "../model/address.ts";
import { append } from "../model/append.ts";
import type { AttachmentState, Change } from "../model/change.ts";
import type { StoredOperation } from "../model/history.ts";
import { type RecordedOperation, targetOf } from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";

/** What the ledger's history knows of earlier runs of a plan. */
export interface PlanHistory {
  /** Ids of the runs that applied this plan; empty before the first. */
  readonly runIds: ReadonlySet<string>;
  /** The operations of these runs, by start. */
  readonly own: readonly StoredOperation[];
  /** All operations of other runs, by start; may be left out while there are no own ones. */
  readonly others: readonly StoredOperation[];
}

/** How far earlier runs of the plan took one change. */
export type Progress =
  /** No call of it is known to have taken effect. */
  | { readonly type: "open" }
  /** A call that must not be repeated may have taken effect. */
  | { readonly type: "in_doubt"; readonly operation: RecordedOperation }
  /** A replacement whose new file is attached and whose old one is not detached. */
  | { readonly type: "attached"; readonly file: string }
  /** `file`: the path of the file that it attached or updated. */
  | { readonly type: "done"; readonly file?: string };

/** The path of a change's file: `drafts/48213/product_files/9900011`. */
export function fileOf({ address }: Pick<Change, "address">, { file_id: fileId }: AttachmentState): string {
  const parsed = parseAddress(address);
  if (parsed?.type !== "attachment" || fileId === undefined) throw new TypeError(`${address} has no file id`);
  return fileResource({ draftId: parsed.draftId, kind: parsed.kind, fileId });
}

/** Finds out how far earlier runs of a plan took each of its changes, from the operations alone. */
export function makeProgressFinder(
  changes: readonly Change[],
  { own, runIds }: PlanHistory,
  inDoubt: readonly RecordedOperation[],
): (change: Change) => Progress {
  const done = groupByAddress(own.filter(tookEffect));
  const doubts = groupByAddress(
    inDoubt.filter(({ runId, kind }) => runIds.has(runId) && kind !== "update" && kind !== "detach"),
  );
  const detached = new Set(
    own.filter((each) => tookEffect(each) && each.kind === "detach").flatMap(resourceOf),
  );
  const attachedAt = (address: string) =>
    done
      .get(address)
      ?.flatMap((each) => (each.kind === "detach" ? [] : resourceOf(each)))
      .at(-1);
  // A file that a run has just attached is not detached by it, whatever record it had before.
  const attached = new Set(changes.filter(attaches).flatMap(({ address }) => attachedAt(address) ?? []));
  const isGone = (file: string) => detached.has(file) || attached.has(file);
  const open = (address: string): Progress => {
    const operation = doubts.get(address)?.at(-1);
    return operation === undefined ? { type: "open" } : { type: "in_doubt", operation };
  };
  return (change) => {
    const { address } = change;
    switch (change.action) {
      case "create":
      case "update":
      case "in_doubt": {
        const file = attachedAt(address);
        return file === undefined ? open(address) : { type: "done", file };
      }
      case "replace": {
        const file = attachedAt(address);
        if (file === undefined) return open(address);
        return { type: isGone(fileOf(change, change.before)) ? "done" : "attached", file };
      }
      case "delete":
        return { type: isGone(fileOf(change, change.before)) ? "done" : "open" };
      case "publish":
      case "duplicate":
        return done.has(address) ? { type: "done" } : open(address);
      case "adopt":
      case "forget":
        return { type: "open" };
    }
  };
}

function attaches({ action }: Change): boolean {
  return action === "create" || action === "replace" || action === "in_doubt";
}

/** Whether an operation is known to have taken effect, by its answer or by what settled it. */
function tookEffect({ outcome, settled }: StoredOperation): boolean {
  return (settled?.as ?? outcome) === "done";
}

function resourceOf(operation: RecordedOperation): string[] {
  const target = targetOf(operation);
  return target === undefined ? [] : [fileResource(target)];
}

function groupByAddress<T extends RecordedOperation>(operations: readonly T[]): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const operation of operations) append(groups, operation.address, operation);
  return groups;
}
