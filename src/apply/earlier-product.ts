import { parseAddress } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { Provenance, Recorded } from "../model/recorded.ts";
import { publicationsInForce } from "../model/recorded.ts";
import { ResolutionError } from "./resolution.ts";

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
 * recorded already, and for a duplicate that no manifest declares.
 */
export function earlierProductEffect(
  product: EarlierProduct,
): Extract<LedgerEffect, { type: "published" | "duplicated" }> {
  const address = parseAddress(product.address);
  if (address?.type === "publication") return publication(product, address.draftId);
  if (address?.type === "duplicate") return duplicate(product, address.name);
  throw impossible(`${product.address} is not a publication or a duplicate`, {
    hint: "Write `drafts/48213/product` or `duplicates/NAME`, as `draftsync plan` shows it.",
  });
}

function publication({ address, productId, desired, recorded, provenance }: EarlierProduct, draftId: number) {
  const revision = desired.drafts.find((draft) => draft.draftId === draftId)?.publish?.revision ?? 1;
  const known = publicationsInForce(recorded).get(draftId);
  if (known !== undefined && known.revision >= revision) throw recordedAlready(address, known.productId);
  return { type: "published", draftId, revision, productId, provenance } as const;
}

function duplicate({ address, productId, desired, recorded, provenance }: EarlierProduct, name: string) {
  const known = recorded.duplicates.find((each) => each.name === name);
  if (known !== undefined) throw recordedAlready(address, known.productId);
  const from = desired.duplicates.find((each) => each.name === name)?.product;
  if (from === undefined) {
    throw impossible(`no manifest declares ${address}`, { hint: "Add it to a list of `duplicates` first." });
  }
  const sourceProductId =
    from.by === "product_id" ? from.productId : publicationsInForce(recorded).get(from.draftId)?.productId;
  if (sourceProductId === undefined) {
    throw impossible(`${address} copies the product of a draft that has none in the ledger`, {
      hint: `Record that one first: draftsync resolve drafts/${from.by === "draft" ? from.draftId : ""}/product --product-id ID`,
    });
  }
  return { type: "duplicated", name, from, sourceProductId, productId, provenance } as const;
}

function recordedAlready(address: string, productId: number): ResolutionError {
  return impossible(`${address} is recorded already, as product ${productId}`, {
    hint: "Nothing needs to be done. To publish once more, raise `publish: { revision: … }`.",
  });
}

function impossible(message: string, { hint }: { readonly hint: string }): ResolutionError {
  return new ResolutionError(message, { code: "resolution-impossible", hint });
}
