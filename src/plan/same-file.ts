import type { DesiredAttachment } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { changedAttributes } from "../model/resource.ts";
import { locationAt } from "../model/source-location.ts";

/** A desired attachment and its address. */
export interface Addressed {
  readonly address: string;
  readonly attachment: DesiredAttachment;
}

/** The files that entries of one list name, in the order of the addresses: those that are named by id come first. */
export class FilesOfList {
  #list = "";
  readonly #holders = new Map<number, Addressed>();

  /** Notes the file of an entry, if it is known; returns the entry that has it already. */
  take(
    attachment: DesiredAttachment,
    fileId: number | undefined,
    address: string,
  ): { readonly fileId: number; readonly holder: Addressed } | undefined {
    if (fileId === undefined) return undefined;
    const { draftId, kind } = attachment.address;
    const list = `${draftId}/${kind}`;
    if (list !== this.#list) this.#holders.clear();
    this.#list = list;
    const holder = this.#holders.get(fileId);
    if (holder === undefined) this.#holders.set(fileId, { address, attachment });
    return holder === undefined ? undefined : { fileId, holder };
  }
}

/**
 * The entry is left alone: what the list asks for is that the file is attached, and it is by the other entry. An attribute that
 * only this one has would be lost, and the draft published without it.
 */
export function sameFileTwice(
  { file, position, attributes, address: where }: DesiredAttachment,
  {
    address,
    fileId,
    holder,
  }: { readonly address: string; readonly fileId: number; readonly holder: Addressed },
): Diagnostic {
  const names = changedAttributes(where.kind, holder.attachment.attributes, attributes);
  const isLost = names.length > 0;
  const says = isLost ? `, with other attributes: ${names.join(", ")}` : "";
  return {
    severity: isLost ? "error" : "warning",
    code: "same-file-twice",
    message: `${address} is file ${fileId}, which ${holder.address} names already${says}`,
    hint: `Keep one of the two entries${isLost ? ", with the attributes that the file shall have" : ""}: a list holds a file once.`,
    address,
    place: locationAt(file, position),
  };
}
