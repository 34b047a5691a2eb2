import { formatAddress } from "../model/address.ts";
import type { Drift } from "../model/drift.ts";
import { recordOfDrift } from "../model/drift.ts";
import type { Recorded, RecordedAttachment } from "../model/recorded.ts";

/**
 * What is recorded with what was observed to be otherwise laid over it: what the ledger will hold once the plan that
 * tells the drift is applied.
 */
export function layOver(recorded: Recorded, drift: readonly Drift[]): Recorded {
  if (drift.length === 0) return recorded;
  const gone = new Set<string>();
  const changed = new Map<string, RecordedAttachment>();
  const found: RecordedAttachment[] = [];
  for (const item of drift) {
    switch (item.type) {
      case "gone":
        gone.add(item.address);
        break;
      case "changed":
        changed.set(item.address, recordOfDrift(item));
        break;
      case "found":
        found.push(recordOfDrift(item));
        break;
      case "product_gone":
        break;
    }
  }
  const attachments = recorded.attachments
    .filter(({ address }) => !gone.has(address))
    .map((attachment) => changed.get(attachment.address) ?? attachment);
  const taken = new Set(found.map(({ address }) => address));
  const others = attachments.map((attachment) =>
    taken.has(attachment.address) ? atOwnAddress(attachment) : attachment,
  );
  return { ...recorded, attachments: [...others, ...found] };
}

/** As the ledger does: whoever holds the address of a file that is recorded anew goes by its file id. */
function atOwnAddress(attachment: RecordedAttachment): RecordedAttachment {
  const { draftId, kind, fileId } = attachment;
  const ref = { by: "file_id", fileId } as const;
  return { ...attachment, address: formatAddress({ type: "attachment", draftId, kind, ref }) };
}
