import { publicationAddress } from "../model/address.ts";
import type { Desired, DesiredAttachment } from "../model/desired.ts";
import { attachmentsByAddress } from "../model/desired.ts";
import type { Observation, RefreshTarget } from "../model/observed.ts";
import type { LedgerEffect } from "../model/ports.ts";
import { productIdOf, publicationsInForce, type Recorded } from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";
import { attributesOnceAttached, effectsOfUpdates, onceRead } from "../model/unsettled.ts";
import { hasValuesOf } from "./doubt-outcome.ts";
import { type FileIndex, indexFiles } from "./file-index.ts";

/** A resource to adopt if the service has it. */
export type AdoptionTarget = Extract<RefreshTarget, { type: "attachment" | "product" }>;

/** Input of {@link adoptionEffects}. */
export interface AdoptInput {
  readonly observations: readonly Observation[];
  readonly desired: Desired;
  readonly recorded: Recorded;
  /** The file of an entry, as far as it is known before anything is uploaded. */
  readonly fileIdOf: (attachment: DesiredAttachment) => number | undefined;
}

/**
 * Ledger effects of an import: each resource the service has is recorded as imported, with the attributes that the
 * service returned, and a doubtful attachment of it is settled. Resources that were not found have no effect. A file that this
 * ledger did not attach is evidence that its draft was in use before, and may be published already, unless the ledger has the
 * revision that the manifest asks for. Pure.
 */
export function adoptionEffects({
  observations,
  desired,
  recorded,
  fileIdOf,
}: AdoptInput): readonly LedgerEffect[] {
  const attachments = attachmentsByAddress(desired);
  const files = indexFiles(recorded);
  const digests = new Map(recorded.uploads.map(({ fileId, sha256 }) => [fileId, sha256]));
  const held = new Set(recorded.attachments.map(({ address }) => address));
  const isTaken = ({ address, target }: ObservedFile, former: string) => {
    const attachment = attachments.get(address);
    const hasOther = held.has(address) && attachment !== undefined && fileIdOf(attachment) === target.fileId;
    return former !== address && (attachments.has(former) || hasOther);
  };
  const { keptValues } = recorded;
  const known = { files, attachments: recorded.attachments, keptValues, digests, isTaken };
  const effectsOf = (observation: Observation): readonly LedgerEffect[] => {
    if (observation.read.type !== "present") return [];
    switch (observation.type) {
      case "attachment":
        return adoptFile(observation, attachments.get(observation.address), known);
      case "product":
        return adoptProduct(observation, desired, recorded);
      case "uploads":
        return [];
    }
  };
  const effects = observations.flatMap(effectsOf);
  return [...effects, ...maybePublished(effects, { desired, recorded, files })];
}

interface PublicationInput extends Pick<AdoptInput, "desired" | "recorded"> {
  readonly files: FileIndex;
}

function maybePublished(
  effects: readonly LedgerEffect[],
  { desired, recorded, files }: PublicationInput,
): readonly LedgerEffect[] {
  const published = new Set(effects.flatMap((each) => (each.type === "published" ? [each.draftId] : [])));
  const inForce = publicationsInForce(recorded);
  // An older revision may be that of a restored backup.
  for (const { draftId, publish } of desired.drafts) {
    if (publish !== undefined && publish.revision === inForce.get(draftId)?.revision) published.add(draftId);
  }
  const found = new Map<number, LedgerEffect>();
  for (const effect of effects) {
    if (effect.type !== "attached") continue;
    const { draftId, provenance } = effect.attachment;
    const resource = fileResource(effect.attachment);
    const isOurs =
      files.records.has(resource) || (files.doubts.get(resource) ?? []).some(({ kind }) => kind === "attach");
    if (!isOurs && !published.has(draftId))
      found.set(draftId, { type: "maybe_published", draftId, at: provenance.at });
  }
  return [...found.values()];
}

type ObservedFile = Extract<Observation, { type: "attachment" }>;

interface Known extends Pick<Recorded, "attachments" | "keptValues"> {
  readonly files: FileIndex;
  /** Of what was uploaded, by file id. */
  readonly digests: ReadonlyMap<number | undefined, string | undefined>;
  /** Whether the file was another entry's until now, and that one stays, or the new one has a file. */
  readonly isTaken: (observation: ObservedFile, former: string) => boolean;
}

function adoptFile(
  observation: ObservedFile,
  attachment: DesiredAttachment | undefined,
  { files: { records, doubts }, attachments, keptValues, digests, isTaken }: Known,
): readonly LedgerEffect[] {
  const { address, target, at } = observation;
  const returned = observation.read.type === "present" ? observation.read.value : {};
  const resource = fileResource(target);
  const known = records.get(resource);
  const inDoubt = doubts.get(resource) ?? [];
  const attaching = inDoubt.filter(({ kind }) => kind === "attach");
  const uploaded = known?.sha256 ?? attaching[0]?.intent.sha256 ?? digests.get(target.fileId);
  // The local file may have changed since. Of a file that draftsync did not upload, only the entry says what it contains.
  const sha256 = uploaded ?? attachment?.content?.sha256;
  const [replaces] = attaching.flatMap(({ intent }) => intent.replaces ?? []);
  const holder = attaching[0]?.address ?? known?.address ?? address;
  const former = holder === resource ? known?.formerAddress : holder;
  const read = { by: "import", at } as const;
  // Like `resolve --attached`: that a file is attached does not say which values it has.
  const before =
    attaching.length === 0
      ? known
      : {
          attributes: attributesOnceAttached(inDoubt, { record: known, keptValues, attachments }),
          provenance: { by: "operator", at } as const,
        };
  const unread = { attributes: {}, provenance: read };
  const { attributes, provenance } = onceRead(target.kind, before ?? unread, { returned, read });
  const seen = inDoubt.filter((each) => hasValuesOf(each, observation.read));
  const taking = seen.findLast(({ kind }) => kind === "update");
  if (known !== undefined && taking !== undefined && attaching.length === 0) {
    const effects = effectsOfUpdates(known, { attributes, provenance }, taking, attachments);
    if (effects.some(({ type }) => type === "values_forgotten")) return effects;
  }
  // The next plan gives the file to the entry, with the values of that; until then it has those of the other one.
  const isOthers = former !== undefined && isTaken(observation, former);
  return [
    {
      type: "attached",
      attachment: {
        ...target,
        // By the path of its file: it is what its attachment was sent for, or is recorded as.
        address: address === resource || isOthers ? holder : address,
        attributes,
        ...(sha256 === undefined ? {} : { sha256 }),
        // The rest of a replacement.
        ...(known?.replacedBy === undefined ? {} : { replacedBy: known.replacedBy }),
        ...(known?.formerAddress === undefined ? {} : { formerAddress: known.formerAddress }),
        provenance,
      },
      ...(replaces === undefined ? {} : { replaces }),
    },
    ...attaching.map(({ id }): LedgerEffect => ({ type: "settled", operationId: id, outcome: "done" })),
    ...attaching
      .filter((each) => seen.includes(each))
      .map((each): LedgerEffect => ({ type: "values_forgotten", address: each.address })),
  ];
}

function adoptProduct(
  { address, productId, at }: Extract<Observation, { type: "product" }>,
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
    const sourceProductId = productIdOf(copy.product, publicationsInForce(recorded));
    if (sourceProductId === undefined) return [];
    return [
      { type: "duplicated", name: copy.name, from: copy.product, sourceProductId, productId, provenance },
    ];
  }
  const draft = desired.drafts.find(({ draftId }) => address === publicationAddress(draftId));
  if (draft?.publish === undefined) return [];
  const { draftId, publish } = draft;
  return [
    { type: "published", draftId, revision: publish.revision, productId, provenance },
    { type: "maybe_published_settled", draftId },
  ];
}
