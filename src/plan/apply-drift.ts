import { parseAddress, quoteArgument } from "../model/address.ts";
import type { AdoptChange, Change } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Drift, FoundDrift } from "../model/drift.ts";
import { recordOfDrift, targetOfDrift } from "../model/drift.ts";
import type { Observed } from "../model/observed.ts";
import type { LedgerEffect } from "../model/ports.ts";
import { fileResourceOf, type Recorded, type RecordedAttachment } from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";
import type { Differences } from "./differences.ts";

/**
 * The records with the drift applied: what the ledger will hold once a run of the plan has recorded the drift. A record
 * that has the address of a found file moves to its own numeric address.
 */
export function applyDrift(recorded: Recorded, drift: readonly Drift[]): Recorded {
  if (drift.length === 0) return recorded;
  const records = new Map(recorded.attachments.map((attachment) => [fileResource(attachment), attachment]));
  const found = new Map<string, RecordedAttachment>();
  const gone = new Set<string>();
  for (const item of drift) {
    switch (item.type) {
      case "gone":
        records.delete(fileResource(targetOfDrift(item)));
        gone.add(fileResource(targetOfDrift(item)));
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
  const others = [...records.values()]
    .map((record) =>
      found.has(record.address)
        ? { ...record, address: fileResource(record), formerAddress: record.address }
        : record,
    )
    .map((record) => {
      const { replacedBy, ...whole } = record;
      // Without the file that took its place, a file is no half of a replacement.
      const isWhole = replacedBy !== undefined && gone.has(fileResource({ ...record, fileId: replacedBy }));
      return isWhole ? whole : record;
    });
  const maybePublished = new Map(recorded.maybePublished);
  for (const { draftId, provenance } of found.values()) {
    if (!maybePublished.has(draftId)) maybePublished.set(draftId, provenance.at);
  }
  return { ...recorded, attachments: [...others, ...found.values()], maybePublished };
}

/**
 * Says of changes that follow from drift that they do, and makes an adoption of a file that was found as it is desired:
 * it enters the ledger.
 */
export function markDrift(all: Differences, drift: readonly Drift[]): Differences {
  if (drift.length === 0) return all;
  const byAddress = new Map(drift.map((item) => [item.address, item]));
  const found = new Map(drift.filter(isFound).map((item) => [item.address, item]));
  const adopted = all.unchanged.flatMap((address) => {
    const item = found.get(address);
    return item === undefined ? [] : [adoption(item)];
  });
  return {
    ...all,
    changes: [...all.changes.map((change) => named(change, byAddress.get(change.address))), ...adopted],
    unchanged: all.unchanged.filter((address) => !found.has(address)),
  };
}

function isFound(drift: Drift): drift is FoundDrift {
  return drift.type === "found";
}

function adoption({ address, after }: FoundDrift): AdoptChange {
  return { address, action: "adopt", reason: "found", before: after, after, attributes: [] };
}

function named(change: Change, drift: Drift | undefined): Change {
  if (drift?.type === "gone" && change.action === "create") return { ...change, reason: "gone" };
  if (drift?.type !== "changed" || change.action !== "update") return change;
  const drifted = change.attributes.some((name) => drift.attributes.includes(name));
  return drifted ? { ...change, reason: "drifted" } : change;
}

/** Reports resources that could not be read, and products that are gone. */
export function addObservations(all: Differences, observed: Observed | undefined): Differences {
  if (observed === undefined) return all;
  const products = observed.drift.flatMap((item) =>
    item.type === "product_gone" ? [productGone(item.address, item.before.product_id)] : [],
  );
  return { ...all, diagnostics: [...all.diagnostics, ...products, ...unreadable(observed)] };
}

function productGone(address: string, productId: number): Diagnostic {
  return {
    severity: "warning",
    code: "product-gone",
    message: `${address}: product ${productId} is not at the service any more`,
    hint:
      parseAddress(address)?.type === "duplicate"
        ? `It is never made again by itself. To duplicate once more: draftsync state rm ${quoteArgument(address)}, then plan again.`
        : "It is never made again by itself. To publish once more, raise the draft's `publish: { revision: … }`.",
    address,
  };
}

/** One sentence for all of them: a service that does not answer fails for hundreds in the same way. */
function unreadable({ unreadable: items }: Observed): Diagnostic[] {
  const [first] = items;
  if (first === undefined) return [];
  const others = items.length === 1 ? "" : ` (and ${items.length - 1} more)`;
  return [
    {
      severity: "warning",
      code: "not-readable",
      message: `${first.address}${others} could not be read; the plan uses the ledger instead: ${first.failure.message}`,
      ...(first.failure.hint === undefined ? {} : { hint: first.failure.hint }),
    },
  ];
}

/**
 * What is recorded once the reads of a refresh are: a plan that records nothing is made from them, too. A file with a call in
 * doubt stays as it is, because its doubt does.
 */
export function applyReads(recorded: Recorded, confirmations: readonly LedgerEffect[]): Recorded {
  if (confirmations.length === 0) return recorded;
  const doubtful = new Set(recorded.inDoubt.map(fileResourceOf));
  const read = new Map(
    confirmations.flatMap((effect) => {
      if (effect.type !== "rerecorded") return [];
      const file = fileResource(effect.attachment);
      return doubtful.has(file) ? [] : [[file, effect.attachment] as const];
    }),
  );
  const attachments = recorded.attachments.map((record) => read.get(fileResource(record)) ?? record);
  return { ...recorded, attachments };
}
