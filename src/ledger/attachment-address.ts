import { parseAddress } from "../model/address.ts";
import type { RecordedAttachment } from "../model/recorded.ts";
import { LedgerError } from "./ledger-error.ts";

/** A file of a draft, and the address it is recorded under. */
export type Addressed = Pick<RecordedAttachment, "draftId" | "kind" | "fileId" | "address">;

/**
 * Refuses (`ledger-invalid-value`) a record whose address does not name its own draft, collection and, when numeric,
 * file: the rest of the ledger relies on it.
 */
export function checkAddress(attachment: Addressed): void {
  const parsed = parseAddress(attachment.address);
  const fits =
    parsed?.type === "attachment" &&
    parsed.draftId === attachment.draftId &&
    parsed.kind === attachment.kind &&
    (parsed.ref.by !== "file_id" || parsed.ref.fileId === attachment.fileId);
  if (fits) return;
  throw new LedgerError(
    "ledger-invalid-value",
    `${attachment.address} is no address for ${nameOf(attachment)}.`,
  );
}

/** For messages, by its identity at the service. */
export function nameOf({ draftId, kind, fileId }: Omit<Addressed, "address">): string {
  return `file ${fileId} in ${kind} of draft ${draftId}`;
}
