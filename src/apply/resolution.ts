import { parseAddress } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import { DraftsyncError } from "../model/errors.ts";
import type { LedgerEffect } from "../model/ports.ts";
import {
  fileResourceOf,
  makesProduct,
  type Provenance,
  productIdOf,
  publicationsInForce,
  type Recorded,
  type RecordedOperation,
} from "../model/recorded.ts";
import { type FileTarget, fileResource } from "../model/resource.ts";
import { effectOfUpdates, isAttachRefusal } from "../model/unsettled.ts";
import { digestOf, replacesOf } from "./attachment-records.ts";

/** What a person found out about an operation in doubt. */
export type Resolution =
  | { readonly type: "done" }
  /** A publication or duplicate that made this product. */
  | { readonly type: "product"; readonly productId: number }
  | { readonly type: "not_done" };

/** A resolution that does not fit the operation. Codes: `resolution-needs-product`, `resolution-needs-no-product`, `resolution-impossible`. */
export class ResolutionError extends DraftsyncError {
  override readonly name = "ResolutionError";
}

/**
 * The effects of an operator's resolution (provenance `operator`) of operations at one address, which also settle them. It is
 * about the first one, the latest of its kind. What a person says of values is not confirmed, since a call before may have set
 * others: what a manifest has is sent again. `now` is in epoch milliseconds. Pure. Throws {@link ResolutionError}.
 */
export function resolutionOfAll(
  operations: readonly RecordedOperation[],
  resolution: Resolution,
  { attachments, now }: Pick<Recorded, "attachments"> & { readonly now: number },
): readonly LedgerEffect[] {
  const [latest, ...others] = operations;
  if (latest === undefined) return [];
  const other = others.find((each) => !isAnswered(each, latest, resolution));
  if (other !== undefined) {
    throw impossible(
      `one answer cannot settle both calls in doubt about ${fileResourceOf(latest)}: ${latest.method} (${latest.kind}) and ${other.method} (${other.kind})`,
      "Let apply settle both: with the file's entry in the manifests it is updated, without it, in a list that the document has, it is detached. Or say with --first how the one ended that was sent first; then of the next.",
    );
  }
  const provenance: Provenance = { by: "operator", at: now };
  return [
    ...operations.flatMap((operation) => {
      if (resolution.type === "not_done" || operation.kind !== latest.kind)
        return [settled(operation.id, "not_sent")];
      return [...doneEffects(operation, resolution, provenance), settled(operation.id, "done")];
    }),
    ...(latest.kind === "update" ? updateEffects(latest, { resolution, attachments, provenance }) : []),
  ];
}

/**
 * Whether what a person says of the latest call about a file is enough for another one: it is, unless one may have detached the
 * file, or have set values that the latest does not tell.
 */
function isAnswered(
  { kind, intent }: RecordedOperation,
  latest: RecordedOperation,
  { type }: Resolution,
): boolean {
  if ((kind === "detach") !== (latest.kind === "detach")) return false;
  const sent = new Map(Object.entries(latest.intent.attributes ?? {}));
  const own = Object.entries(intent.attributes ?? {});
  const isSame = own.every(([name, value]) => sent.get(name) === value);
  if (latest.kind === "attach") return type === "not_done" || kind === "attach" || isSame;
  if (latest.kind !== "update") return true;
  return type === "done" ? own.every(([name]) => sent.has(name)) : isSame && own.length === sent.size;
}

/** What an update in doubt leaves of a recorded file: what it sent, or what was confirmed before; and which entry has it. */
function updateEffects(
  operation: RecordedOperation,
  {
    resolution,
    attachments,
    provenance,
  }: Pick<Recorded, "attachments"> & { readonly resolution: Resolution; readonly provenance: Provenance },
): readonly LedgerEffect[] {
  const isDone = resolution.type === "done";
  const file = fileResourceOf(operation);
  const record = attachments.find((each) => fileResource(each) === file);
  if (record === undefined) return [];
  const attributes = { ...record.attributes, ...(isDone ? operation.intent.attributes : {}) };
  const attachment = { ...record, attributes, provenance };
  return [effectOfUpdates(attachment, isDone ? operation : undefined, attachments)];
}

function settled(operationId: string, outcome: "done" | "not_sent"): LedgerEffect {
  return { type: "settled", operationId, outcome };
}

function doneEffects(
  operation: RecordedOperation,
  resolution: Exclude<Resolution, { type: "not_done" }>,
  provenance: Provenance,
): readonly LedgerEffect[] {
  const { address, kind } = operation;
  if (makesProduct(kind)) {
    if (resolution.type === "product") return productEffects(operation, resolution.productId, provenance);
    throw new ResolutionError(`${address} is a ${kind} in doubt: if it took effect, it made a product`, {
      code: "resolution-needs-product",
      hint: "Look the product up at the service and give its id with --product-id, or say --not-done.",
    });
  }
  if (resolution.type === "product") {
    throw new ResolutionError(`${address} is an ${kind} in doubt: no product comes of it`, {
      code: "resolution-needs-no-product",
      hint: "Say --done or --not-done.",
    });
  }
  switch (kind) {
    case "attach": {
      const { refusedWith = operation.status, attributes: sent = {}, replaces } = operation.intent;
      // A file that was attached by another call has the values of that.
      const attributes = isAttachRefusal(refusedWith) ? {} : sent;
      const attachment = {
        ...fileOf(operation),
        address,
        attributes,
        ...digestOf(operation.intent),
        provenance,
      };
      return [{ type: "attached", attachment, ...replacesOf(replaces) }];
    }
    case "detach":
      return [{ type: "detached", target: fileOf(operation) }];
    case "update":
    case "upload":
      // The next plan uses the result of an upload; what an update leaves is recorded with its file.
      return [];
  }
}

function productEffects(
  operation: RecordedOperation,
  productId: number,
  provenance: Provenance,
): readonly LedgerEffect[] {
  const { draftId, revision, name, productId: sourceProductId } = operation.intent;
  if (operation.kind === "publish" && draftId !== undefined && revision !== undefined) {
    return [{ type: "published", draftId, revision, productId, provenance }];
  }
  // A duplicate made by `products duplicate` has no name in the ledger.
  if (parseAddress(operation.address)?.type !== "duplicate") return [];
  if (name === undefined || sourceProductId === undefined) throw tooLittle(operation);
  const from =
    draftId === undefined
      ? ({ by: "product_id", productId: sourceProductId } as const)
      : ({ by: "draft", draftId } as const);
  return [{ type: "duplicated", name, from, sourceProductId, productId, provenance }];
}

function fileOf(operation: RecordedOperation): FileTarget {
  const address = parseAddress(operation.address);
  const { fileId } = operation.intent;
  if (address?.type !== "attachment" || fileId === undefined) throw tooLittle(operation);
  return { draftId: address.draftId, kind: address.kind, fileId };
}

function tooLittle({ address, id }: RecordedOperation): ResolutionError {
  return impossible(
    `the ledger holds too little of operation ${id} to record ${address} as done`,
    "Say --not-done; a file that is attached after all is adopted by the next apply.",
  );
}

function impossible(message: string, hint: string): ResolutionError {
  return new ResolutionError(message, { code: "resolution-impossible", hint });
}

/** What a person knows of a product that was made before the ledger. */
export interface EarlierProduct {
  readonly address: string;
  readonly productId: number;
  readonly desired: Desired;
  readonly recorded: Recorded;
  readonly provenance: Provenance;
}

/**
 * What the ledger takes of a publication or duplicate that was made before it: a publication counts as of the revision that
 * the manifest asks for. Pure. Throws {@link ResolutionError} `resolution-impossible` for any other address, for one that is
 * recorded already, for a duplicate that no manifest declares, and for the product that it is a copy of.
 */
export function earlierProductEffect(
  product: EarlierProduct,
): Extract<LedgerEffect, { type: "published" | "duplicated" }> {
  const address = parseAddress(product.address);
  if (address?.type === "publication") return publication(product, address.draftId);
  if (address?.type === "duplicate") return duplicate(product, address.name);
  throw impossible(
    `${product.address} is not a publication or a duplicate`,
    "Write `drafts/48213/product` or `duplicates/NAME`, as `draftsync plan` shows it.",
  );
}

function publication({ address, productId, desired, recorded, provenance }: EarlierProduct, draftId: number) {
  const revision = desired.drafts.find((draft) => draft.draftId === draftId)?.publish?.revision ?? 1;
  const known = publicationsInForce(recorded).get(draftId);
  if (known !== undefined && known.revision >= revision)
    throw recordedAlready(address, known.productId, productId);
  return { type: "published", draftId, revision, productId, provenance } as const;
}

function duplicate({ address, productId, desired, recorded, provenance }: EarlierProduct, name: string) {
  const known = recorded.duplicates.find((each) => each.name === name);
  if (known !== undefined) throw recordedAlready(address, known.productId, productId);
  const from = desired.duplicates.find((each) => each.name === name)?.product;
  if (from === undefined) {
    throw impossible(`no manifest declares ${address}`, "Add it to a list of `duplicates` first.");
  }
  const sourceProductId = productIdOf(from, publicationsInForce(recorded));
  if (sourceProductId === undefined) {
    throw impossible(
      `${address} copies the product of a draft that has none in the ledger`,
      `Record that one first: draftsync resolve drafts/${from.by === "draft" ? from.draftId : ""}/product --product-id ID`,
    );
  }
  if (sourceProductId === productId) {
    throw impossible(
      `${address}: product ${productId} is what it is a copy of`,
      "Check the product id at the service again.",
    );
  }
  return { type: "duplicated", name, from, sourceProductId, productId, provenance } as const;
}

function recordedAlready(address: string, productId: number, given: number): ResolutionError {
  return impossible(
    `${address} is recorded already, as product ${productId}`,
    productId === given
      ? "Nothing needs to be done. To publish once more, raise `publish: { revision: … }`."
      : "If that is the wrong product: `draftsync state export`, correct the id in the file, `draftsync state import`.",
  );
}
