import { type AttachmentState, orderState } from "../model/change.ts";
import type { DesiredAttachment } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { RecordedAttachment } from "../model/recorded.ts";
import { changedAttributes } from "../model/resource.ts";
import { locationAt } from "../model/source-location.ts";
import type { RecordedIndex } from "./recorded-index.ts";

/** The file id of a desired attachment, as far as it is known before anything is uploaded. */
export function fileIdOf(attachment: DesiredAttachment, index: RecordedIndex): number | undefined {
  const { ref } = attachment.address;
  return ref.by === "file_id" ? ref.fileId : index.uploadFor(attachment)?.fileId;
}

/** What a manifest asks for, with what is known of its upload. */
export function desiredState(attachment: DesiredAttachment, index: RecordedIndex): AttachmentState {
  const { ref } = attachment.address;
  const upload = index.uploadFor(attachment);
  const fileId = fileIdOf(attachment, index);
  const storedKey = upload === undefined ? index.storedKeyFor(attachment) : undefined;
  return orderState({
    ...(fileId === undefined ? {} : { file_id: fileId }),
    ...(ref.by === "source" ? { source: ref.source, ...attachment.content } : {}),
    ...(ref.by === "upload_key" ? { upload_key: ref.uploadKey } : {}),
    ...(ref.by === "upload_id" ? { upload_id: ref.uploadId } : {}),
    ...(storedKey === undefined ? {} : { upload_key: storedKey }),
    ...(upload !== undefined && fileId === undefined ? { upload_id: upload.uploadId } : {}),
    ...attachment.attributes,
  });
}

/** The state includes the record's own address when it differs from the change's. */
export function recordedState(known: RecordedAttachment, address: string): AttachmentState {
  return orderState({
    file_id: known.fileId,
    ...(known.address === address ? {} : { address: known.address }),
    ...(known.sha256 === undefined ? {} : { sha256: known.sha256 }),
    ...known.attributes,
  });
}

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
