import { parseAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import { isProtectChange } from "../model/change.ts";
import { lazily } from "../model/lazily.ts";
import type { Ledger } from "../model/ports.ts";
import { targetOf } from "../model/recorded.ts";
import type { FileTarget } from "../model/resource.ts";
import { fileResource } from "../model/resource.ts";
import type { ChangeEnd } from "./context.ts";

/** Where files are recorded or in doubt, by their paths at the service. Read once, when the first upload of a run has ended. */
export type RecordedFiles = () => Promise<ReadonlyMap<string, string>>;

/** See {@link RecordedFiles}. */
export function makeRecordedFiles(ledger: Pick<Ledger, "load">): RecordedFiles {
  return lazily(async () => {
    const { attachments, inDoubt } = await ledger.load();
    const doubts = inDoubt.flatMap((operation) => {
      const target = operation.kind === "attach" ? targetOf(operation) : undefined;
      return target === undefined ? [] : [[fileResource(target), operation.address] as const];
    });
    const recorded = attachments.map((attachment) => [fileResource(attachment), attachment.address] as const);
    return new Map([...doubts, ...recorded]);
  });
}

/** A change, and the file it is about as far as that is known by now. */
export interface FileOfChange {
  readonly change: Change;
  readonly fileId: number | undefined;
}

/**
 * The address of another entry of the same list that has the file of an upload, which is known only once the upload has ended.
 * To attach it would overwrite that entry's attributes. `others` are the changes of the draft.
 */
export function holderOf(
  own: { readonly address: string; readonly fileId: number },
  others: readonly FileOfChange[],
  recorded: ReadonlyMap<string, string>,
): string | undefined {
  const parsed = parseAddress(own.address);
  if (parsed?.type !== "attachment") return undefined;
  const target: FileTarget = { draftId: parsed.draftId, kind: parsed.kind, fileId: own.fileId };
  const isSame = ({ change, fileId }: FileOfChange) => {
    const other = parseAddress(change.address);
    return (
      fileId === own.fileId && other?.type === "attachment" && other.kind === target.kind && keeps(change)
    );
  };
  const first = others.find((other) => isSame(other) && isBefore(other.change, own.address));
  if (first !== undefined) return first.change.address;
  const at = recorded.get(fileResource(target));
  if (at === undefined || at === own.address) return undefined;
  // A record that the plan removes, or moves to this entry, is nobody else's.
  const isGiven = others.some(
    ({ change }) => fileOfBefore(change) === own.fileId && isOfKind(change, target),
  );
  return isGiven ? undefined : at;
}

/** What a file that the service has under two names ends with. */
export function sameFileFailure(fileId: number, holder: string): ChangeEnd {
  return {
    outcome: "rejected",
    failure: {
      code: "same-file-attached",
      message: `the upload is file ${fileId}, which ${holder} has already; a list holds a file once`,
      hint: "Keep one of the two entries.",
      errors: [],
      stops: "operation",
    },
  };
}

/** A file that is named by its id, or whose upload ended in an earlier run, comes before uploads of this run. */
function isBefore(change: Change, address: string): boolean {
  const { after } = change;
  const isKnown = after !== null && "file_id" in after;
  return change.address !== address && (isKnown || change.address < address);
}

function keeps({ action }: Change): boolean {
  return action !== "delete";
}

function fileOfBefore(change: Change): number | undefined {
  if (change.action === "delete" || change.action === "replace") return change.before.file_id;
  return undefined;
}

function isOfKind({ address }: Change, { kind }: FileTarget): boolean {
  const parsed = parseAddress(address);
  return parsed?.type === "attachment" && parsed.kind === kind;
}

/** The file that a change attaches or keeps, when the plan knows it. */
export function plannedFile(change: Change): number | undefined {
  if (change.after === null || isProtectChange(change) || !("file_id" in change.after)) return undefined;
  return change.after.file_id;
}
