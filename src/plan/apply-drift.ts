import type { Drift } from "../model/drift.ts";
import { recordOfDrift, targetOfDrift } from "../model/drift.ts";
import type { Recorded, RecordedAttachment } from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";

/**
 * The records with the drift applied: what the ledger will hold once a run of the plan has recorded the drift. A record
 * that has the address of a found file moves to its own numeric address.
 */
export function applyDrift(recorded: Recorded, drift: readonly Drift[]): Recorded {
  if (drift.length === 0) return recorded;
  const records = new Map(recorded.attachments.map((attachment) => [fileResource(attachment), attachment]));
  const found = new Map<string, RecordedAttachment>();
  for (const item of drift) {
    switch (item.type) {
      case "gone":
        records.delete(fileResource(targetOfDrift(item)));
        break;
      case "changed":
        records.set(fileResource(targetOfDrift(item)), recordOfDrift(item));
        break;
      case "found":
        found.set(item.address, recordOfDrift(item));
        break;
      case "product_gone":
        break;
    }
  }
  const others = [...records.values()].map((attachment) =>
    found.has(attachment.address)
      ? { ...attachment, address: fileResource(attachment), replaced: true as const }
      : attachment,
  );
  const maybePublished = new Map(recorded.maybePublished);
  for (const { draftId, provenance } of found.values()) {
    if (!maybePublished.has(draftId)) maybePublished.set(draftId, provenance.at);
  }
  return { ...recorded, attachments: [...others, ...found.values()], maybePublished };
}
