import type { Drift } from "../model/drift.ts";
import { recordOfDrift, targetOfDrift } from "../model/drift.ts";
import type { Recorded, RecordedAttachment } from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";

/**
 * What is recorded with what was observed to be otherwise laid over it: what the ledger will hold once the plan that
 * tells the drift is applied. As there, whoever has the address of a file that was found gives it up for its own.
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
