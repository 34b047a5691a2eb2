import { publicationAddress } from "../model/address.ts";
import { makeClaim } from "../model/lists.ts";
import type { Plan } from "../model/plan.ts";
import type { UploadStatus } from "../model/ports.ts";
import {
  addressesOfProducts,
  publicationsInForce,
  type Recorded,
  type RecordedUpload,
} from "../model/recorded.ts";
import { claimFile, digestsOfFiles, keysOfUploads } from "../model/upload-name.ts";

/** New resources whose ids the service assigns. */
export interface Holders {
  /** Addresses. */
  readonly products: Map<number, string>;
  /** Keys of objects in storage. */
  readonly uploads: Map<string, string>;
  /** Digests of the local files that files were made from. */
  readonly digests: Map<number, string>;
  /** The ids of uploads that draftsync did not register. */
  readonly foundUploads: ReadonlySet<string>;
  /** The uploads of earlier runs. */
  readonly registered: ReadonlyMap<string, RecordedUpload>;
}

/** What the ledger and the plan name by ids that the service assigned. */
export function holdersOf(recorded: Recorded, { changes }: Pick<Plan, "changes"> = { changes: [] }): Holders {
  const products = holdersOfProducts(recorded);
  const found = new Set(foundUploads(recorded));
  const uploads = keysOfUploads(recorded);
  for (const { address, action, after } of changes) {
    if (action === "duplicate" && after.product_id !== undefined && !products.has(after.product_id))
      products.set(after.product_id, sourceOf(address));
    const uploadId = action === "create" || action === "replace" ? after.upload_id : undefined;
    if (uploadId !== undefined && !uploads.has(uploadId)) found.add(uploadId);
  }
  const registered = new Map(recorded.uploads.map((upload) => [upload.uploadId, upload]));
  return { products, uploads, digests: digestsOfFiles(recorded), foundUploads: found, registered };
}

/** What each product that the ledger knows is the product of, by id: the address where it is in force, or words for another one. */
function holdersOfProducts({
  publications,
  duplicates,
}: Pick<Recorded, "publications" | "duplicates">): Map<number, string> {
  const inForce = [...publicationsInForce({ publications }).values()];
  return new Map([
    ...duplicates.map(
      ({ sourceProductId, name }) => [sourceProductId, sourceOf(`duplicates/${name}`)] as const,
    ),
    ...publications.map(
      ({ productId, draftId }) =>
        [productId, `an earlier revision of ${publicationAddress(draftId)}`] as const,
    ),
    ...addressesOfProducts({ publications: inForce, duplicates }),
  ]);
}

/** Words for the product that a copy was, or is to be, made of. */
function sourceOf(duplicate: string): string {
  return `which ${duplicate} is a copy`;
}

/** The ids of uploads that draftsync did not register. */
function foundUploads({ uploads }: Pick<Recorded, "uploads">): string[] {
  return uploads.flatMap(({ uploadId, uploadKey }) => (uploadKey === undefined ? [uploadId] : []));
}

/**
 * Takes the upload of an answer for an object. An answer need not name the object: it may be about an upload that is known by its id.
 * A service may have one upload for the same content.
 */
export function makeUploadClaim(
  { key, sha256 }: { readonly key: string; readonly sha256?: string | undefined },
  { uploads, digests, foundUploads, registered }: Omit<Holders, "products">,
): (upload: UploadStatus) => string | undefined {
  const claim = makeClaim(key, uploads);
  return ({ uploadId, uploadKey, fileId }) => {
    const other = claimFile({ fileId, sha256 }, digests);
    if (other !== undefined) return other;
    if (uploadKey === undefined && foundUploads.has(uploadId))
      return `upload_id:${uploadId}; if it is the upload of ${key}, write upload_id: ${uploadId} into the entry`;
    const known = registered.get(uploadId);
    return sha256 !== undefined && known?.sha256 === sha256 ? undefined : claim(uploadId);
  };
}
