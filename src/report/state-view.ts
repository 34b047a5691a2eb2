import { compareText, draftIdOf, formatAddress, publicationAddress } from "../model/address.ts";
import type { ConfirmedState, Provenance, Recorded } from "../model/recorded.ts";
import { isoTime } from "../model/time.ts";

/** One thing the ledger holds, as people and scripts see it. Times are ISO 8601, UTC. */
export interface StateEntry {
  readonly address: string;
  /** Of its draft. */
  readonly title?: string;
  readonly type: "attachment" | "publication" | "duplicate" | "upload" | "draft" | "operation";
  /** In a few words: `file 9900011`, `product 771200, revision 2`. */
  readonly is: string;
  /** What confirmed it, and when. */
  readonly confirmed_by: ConfirmedState["by"] | "manifest" | "service" | "storage" | "nobody";
  readonly at: string;
  readonly details: Readonly<Record<string, string | number | boolean>>;
}

/** Everything that is recorded, sorted by address. Pure. */
export function listEntries(recorded: Recorded): readonly StateEntry[] {
  const entries = [
    ...protectedDrafts(recorded),
    ...maybePublished(recorded),
    ...attachments(recorded),
    ...publications(recorded),
    ...duplicates(recorded),
    ...uploads(recorded),
    ...storedObjects(recorded),
    ...operations(recorded),
  ].sort((a, b) => compareText(a.address, b.address));
  return entries.map((entry) => {
    const title = recorded.titles.get(draftIdOf(entry.address) ?? 0);
    return title === undefined ? entry : { ...entry, title };
  });
}

function confirmed({ by, at }: Provenance) {
  return { confirmed_by: by, at: isoTime(at) };
}

function protectedDrafts({ protectedDrafts: ids }: Recorded): StateEntry[] {
  return [...ids].map((id) => ({
    address: `drafts/${id}`,
    type: "draft",
    is: "protected",
    confirmed_by: "manifest",
    at: "",
    details: { protect: true },
  }));
}

function maybePublished({ maybePublished: drafts }: Recorded): StateEntry[] {
  return [...drafts].map(([id, at]) => ({
    address: publicationAddress(id),
    type: "publication",
    is: "maybe published before this ledger",
    confirmed_by: "service",
    at: isoTime(at),
    details: { maybe_published: true },
  }));
}

function attachments(recorded: Recorded): StateEntry[] {
  return recorded.attachments.map(({ address, fileId, attributes, sha256, provenance }) => ({
    address,
    type: "attachment",
    is: `file ${fileId}`,
    ...confirmed(provenance),
    details: { file_id: fileId, ...attributes, ...(sha256 === undefined ? {} : { sha256 }) },
  }));
}

function publications(recorded: Recorded): StateEntry[] {
  return recorded.publications.map(({ draftId, revision, productId, provenance }) => ({
    address: publicationAddress(draftId),
    type: "publication",
    is: `product ${productId}, revision ${revision}`,
    ...confirmed(provenance),
    details: { product_id: productId, revision },
  }));
}

function duplicates(recorded: Recorded): StateEntry[] {
  return recorded.duplicates.map(({ name, sourceProductId, productId, provenance }) => ({
    address: `duplicates/${name}`,
    type: "duplicate",
    is: `product ${productId}, copy of ${sourceProductId}`,
    ...confirmed(provenance),
    details: { product_id: productId, source_product_id: sourceProductId },
  }));
}

function uploads(recorded: Recorded): StateEntry[] {
  return recorded.uploads.map(({ uploadId, uploadKey, source, sha256, size, status, fileId, at }) => ({
    address: uploadAddress({ uploadId, uploadKey, source }),
    type: "upload",
    is: `upload ${uploadId}, ${status}${fileId === undefined ? "" : `, file ${fileId}`}`,
    ...confirmed({ by: uploadKey === undefined ? "get" : "post", at }),
    details: {
      upload_id: uploadId,
      ...(uploadKey === undefined ? {} : { upload_key: uploadKey }),
      status,
      ...(fileId === undefined ? {} : { file_id: fileId }),
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(size === undefined ? {} : { size }),
    },
  }));
}

function uploadAddress({ uploadId, uploadKey, source }: NamesOfUpload): string {
  if (source !== undefined) return formatAddress({ type: "upload", source });
  return uploadKey === undefined ? `uploads/upload_id:${uploadId}` : `uploads/upload_key:${uploadKey}`;
}

interface NamesOfUpload {
  readonly uploadId: string;
  readonly uploadKey: string | undefined;
  readonly source: string | undefined;
}

function storedObjects(recorded: Recorded): StateEntry[] {
  return recorded.storedObjects.map(({ uploadKey, source, sha256, size, at }) => ({
    address: formatAddress({ type: "upload", source }),
    type: "upload",
    is: "in storage, not registered yet",
    confirmed_by: "storage",
    at: isoTime(at),
    details: { upload_key: uploadKey, sha256, size },
  }));
}

function operations(recorded: Recorded): StateEntry[] {
  return recorded.inDoubt.map(({ id, address, kind, method, path, startedAt, detail }) => ({
    address,
    type: "operation",
    is: `${kind} in doubt`,
    confirmed_by: "nobody",
    at: isoTime(startedAt),
    details: { operation_id: id, method, path, ...(detail === undefined ? {} : { detail }) },
  }));
}
