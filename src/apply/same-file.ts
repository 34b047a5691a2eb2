import { parseAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import { isProtectChange } from "../model/change.ts";
import { lazily } from "../model/lazily.ts";
import type { Ledger } from "../model/ports.ts";
import { type RecordedAttachment, targetOf } from "../model/recorded.ts";
import { type Attributes, fileResource, omitAttributes } from "../model/resource.ts";
import { openValues, repeatableDoubts } from "../model/unsettled.ts";
import type { ChangeEnd } from "./context.ts";

/** A file that is recorded, or whose attachment is in doubt. */
export interface KnownFile {
  readonly address: string;
  /** With the attributes that it has if it is still attached. */
  readonly attachment?: RecordedAttachment;
  /** See {@link openValues}. */
  readonly open?: Attributes | undefined;
  /** The recorded file that the one in doubt takes the place of. */
  readonly replaces?: number | undefined;
}

/** Known files by their paths at the service. Read once, when a run first needs them. */
export type RecordedFiles = () => Promise<ReadonlyMap<string, KnownFile>>;

/** See {@link RecordedFiles}. */
export function makeRecordedFiles(ledger: Pick<Ledger, "load">): RecordedFiles {
  return lazily(async () => {
    const { attachments, inDoubt } = await ledger.load();
    const repeatable = repeatableDoubts({ inDoubt });
    const doubts = inDoubt.flatMap((operation) => {
      const { address, intent } = operation;
      const target = operation.kind === "attach" ? targetOf(operation) : undefined;
      return target === undefined
        ? []
        : [[fileResource(target), { address, replaces: intent.replaces }] as const];
    });
    const recorded = attachments.map((attachment) => {
      const file = fileResource(attachment);
      const open = openValues(attachment, repeatable.get(file));
      const attributes = omitAttributes(attachment.attributes, new Set(Object.keys(open ?? {})));
      const known: KnownFile = {
        address: attachment.address,
        attachment: { ...attachment, attributes },
        open,
      };
      return [file, known] as const;
    });
    return new Map<string, KnownFile>([...doubts, ...recorded]);
  });
}

/** A change, and its file as soon as that is known. */
export interface FileOfChange {
  readonly change: Change;
  readonly fileId?: number | undefined;
}

/**
 * The address of the entry of the same list that has the file of an upload already. The file is known once the upload has ended.
 * To attach it would overwrite that entry's attributes. `others` are the changes of the draft.
 */
export function holderOf(
  own: { readonly address: string; readonly fileId: number },
  others: readonly FileOfChange[],
  recorded: ReadonlyMap<string, KnownFile>,
): string | undefined {
  const { address, fileId } = own;
  const parsed = parseAddress(address);
  if (parsed?.type !== "attachment") return undefined;
  const { draftId, kind } = parsed;
  const isKnown = others.some(
    ({ change }) => change.address === address && plannedFile(change) !== undefined,
  );
  const sameList = others.filter(({ change }) => {
    const other = parseAddress(change.address);
    return other?.type === "attachment" && other.kind === kind;
  });
  const first = sameList.find(
    ({ change, fileId: known = plannedFile(change) }) =>
      known === fileId && change.action !== "delete" && isBefore(change, address, isKnown),
  );
  if (first !== undefined) return first.change.address;
  const at = recorded.get(fileResource({ draftId, kind, fileId }))?.address;
  // A record that the plan removes, or moves to this entry, belongs to no other entry.
  const isFreed = sameList.some(
    ({ change: { action, before } }) =>
      (action === "delete" || action === "replace") && before?.file_id === fileId,
  );
  return at === address || isFreed ? undefined : at;
}

/** The failure of a file that the service has under two names. */
export function sameFileFailure(fileId: number, holder: string): ChangeEnd {
  return {
    outcome: "rejected",
    failure: {
      code: "same-file-attached",
      message: `the upload is file ${fileId}, which ${holder} has already; a list holds a file once`,
      hint: "Keep one of the two entries. If the other one gets new content, run without --target.",
      errors: [],
      stops: "operation",
    },
  };
}

/** A file that is named by its id, or whose upload ended in an earlier run, comes before uploads of this run. */
function isBefore(change: Change, address: string, isKnown: boolean): boolean {
  if (change.address === address) return false;
  const isOtherKnown = plannedFile(change) !== undefined;
  return isOtherKnown === isKnown ? change.address < address : isOtherKnown;
}

/** The file that a change attaches or keeps, when the plan knows it. */
export function plannedFile(change: Change): number | undefined {
  if (change.after === null || isProtectChange(change) || !("file_id" in change.after)) return undefined;
  return change.after.file_id;
}
