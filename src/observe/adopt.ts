import { publicationAddress } from "../model/address.ts";
import type { Desired, DesiredAttachment, DesiredDuplicate } from "../model/desired.ts";
import { attachmentsByAddress } from "../model/desired.ts";
import type { Look, Sighting } from "../model/observed.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { Recorded } from "../model/recorded.ts";
import { publicationsInForce } from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";
import { type FileIndex, indexFiles } from "./file-index.ts";
import { mergeTold } from "./merge-told.ts";

/** What is to be adopted when it is there: one look, which is for an attachment or a product. */
export type AdoptionLook = Extract<Look, { type: "attachment" | "product" }>;

/** What adoptions are made from. */
export interface AdoptInput {
  readonly sightings: readonly Sighting[];
  readonly desired: Desired;
  readonly recorded: Recorded;
}

/**
 * What the ledger takes of things that were seen: they are recorded as imported, with the attributes that the service
 * told, and an attachment that was in doubt is so no more. Things that were not seen have no effect. Pure.
 */
export function adoptionEffects({ sightings, desired, recorded }: AdoptInput): readonly LedgerEffect[] {
  const attachments = attachmentsByAddress(desired);
  const files = indexFiles(recorded);
  const effectsOf = (sighting: Sighting): readonly LedgerEffect[] => {
    if (sighting.finding.type !== "present") return [];
    switch (sighting.type) {
      case "attachment":
        return adoptFile(sighting, attachments.get(sighting.address), files);
      case "product":
        return adoptProduct(sighting, desired, recorded);
      case "uploads":
        return [];
    }
  };
  return sightings.flatMap(effectsOf);
}

function adoptFile(
  { address, target, at, finding }: Extract<Sighting, { type: "attachment" }>,
  attachment: DesiredAttachment | undefined,
  { records, doubts }: FileIndex,
): LedgerEffect[] {
  const told = finding.type === "present" ? finding.value : {};
  const resource = fileResource(target);
  const known = records.get(resource);
  const sha256 = attachment?.content?.sha256 ?? known?.sha256;
  const attaching = (doubts.get(resource) ?? []).filter(({ kind }) => kind === "attach");
  return [
    {
      type: "attached",
      attachment: {
        ...target,
        address,
        attributes: mergeTold(target.kind, known?.attributes ?? {}, told),
        ...(sha256 === undefined ? {} : { sha256 }),
        provenance: { by: "import", at },
      },
    },
    ...attaching.map(({ id }): LedgerEffect => ({ type: "settled", operationId: id, outcome: "done" })),
  ];
}

function adoptProduct(
  { address, productId, at }: Extract<Sighting, { type: "product" }>,
  desired: Desired,
  recorded: Recorded,
): LedgerEffect[] {
  const provenance = { by: "import", at } as const;
  const known = [...recorded.publications, ...recorded.duplicates];
  if (known.some((each) => each.productId === productId)) {
    return [{ type: "product_confirmed", productId, provenance }];
  }
  const copy = desired.duplicates.find(({ name }) => address === `duplicates/${name}`);
  if (copy !== undefined) {
    const sourceProductId = sourceOf(copy, recorded);
    if (sourceProductId === undefined) return [];
    return [
      { type: "duplicated", name: copy.name, from: copy.product, sourceProductId, productId, provenance },
    ];
  }
  const draft = desired.drafts.find(({ draftId }) => address === publicationAddress(draftId));
  if (draft?.publish === undefined) return [];
  return [
    { type: "published", draftId: draft.draftId, revision: draft.publish.revision, productId, provenance },
  ];
}

/** The product that a copy was made from; `undefined` while its draft has none. */
export function sourceOf({ product }: DesiredDuplicate, recorded: Recorded): number | undefined {
  return product.by === "product_id"
    ? product.productId
    : publicationsInForce(recorded).get(product.draftId)?.productId;
}
