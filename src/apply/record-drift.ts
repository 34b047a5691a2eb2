import type { Drift } from "../model/drift.ts";
import { recordOfDrift, targetOfDrift } from "../model/drift.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { RecordedAttachment } from "../model/recorded.ts";

/** A file that is attached and not recorded is evidence that the draft was in use before this ledger. */
function foundEffects(attachment: RecordedAttachment): LedgerEffect[] {
  const { draftId, provenance } = attachment;
  return [
    { type: "attached", attachment },
    { type: "maybe_published", draftId, at: provenance.at },
  ];
}

/**
 * The ledger effects of a plan's drift, recorded before the plan's changes are applied. Found files come last, because each
 * takes its address from the record that has it. Pure.
 */
export function driftEffects(drift: readonly Drift[]): readonly LedgerEffect[] {
  const found = drift.filter(({ type }) => type === "found");
  const others = drift.filter(({ type }) => type !== "found");
  return [...others, ...found].flatMap(effectOf);
}

function effectOf(item: Drift): LedgerEffect | LedgerEffect[] {
  switch (item.type) {
    case "gone":
      return { type: "detached", target: targetOfDrift(item) };
    case "changed":
      return { type: "rerecorded", attachment: recordOfDrift(item) };
    case "found":
      return foundEffects(recordOfDrift(item));
    // A product that was published is never forgotten by itself: it would be published again.
    case "product_gone":
      return [];
  }
}
