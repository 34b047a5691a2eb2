import { formatAddress, publicationAddress } from "./address.ts";
import type { ProductRef } from "./desired.ts";
import type { Attributes, FileKind, FileTarget } from "./resource.ts";
import { isoTime } from "./time.ts";

/** How a record came to be known, from the strongest evidence of a call to a person's word. */
export const confirmations = ["post", "patch", "get", "probe", "import", "operator"] as const;

/** One of {@link confirmations}. */
export type Confirmation = (typeof confirmations)[number];

/** Who confirmed a record, and when (epoch milliseconds). */
export interface Provenance {
  readonly by: Confirmation;
  readonly at: number;
}

/** A {@link Provenance} in JSON: the time in ISO 8601, UTC. */
export interface ConfirmedState {
  readonly by: Provenance["by"];
  readonly at: string;
}

/** Converts a provenance to its JSON form. */
export function confirmedState({ by, at }: Provenance): ConfirmedState {
  return { by, at: isoTime(at) };
}

/** The lineage of a ledger that is not there. */
export const noLineage = "";

/** The content of the ledger: what draftsync did and what the service returned, not what the service holds now. */
export interface Recorded {
  /** Made once with the ledger; a copy that went its own way shares it, a new ledger does not. {@link noLineage} without one. */
  readonly lineage: string;
  /** Rises with every committed change of the ledger. */
  readonly serial: number;
  /** The service this ledger speaks of; absent before the first apply. */
  readonly serviceOrigin?: string;
  /** The workspace this ledger belongs to; absent before the first apply. */
  readonly workspace?: string;
  /** Whether a person confirmed once that nothing was published or duplicated before this ledger. */
  readonly isConfirmed: boolean;
  /** What people call drafts, as of the last change that was applied to them. */
  readonly titles: ReadonlyMap<number, string>;
  /** Ids of drafts of which nothing may be deleted. */
  readonly protectedDrafts: ReadonlySet<number>;
  /** Drafts that were in use before this ledger, by id: a file of theirs turned out to be attached (epoch milliseconds). */
  readonly maybePublished: ReadonlyMap<number, number>;
  readonly attachments: readonly RecordedAttachment[];
  readonly publications: readonly RecordedPublication[];
  readonly duplicates: readonly RecordedDuplicate[];
  readonly uploads: readonly RecordedUpload[];
  readonly storedObjects: readonly RecordedObject[];
  /** Resources that were fetched since their last confirmation and differed from their records. */
  readonly refreshes: readonly RecordedRefresh[];
  /** Operations whose outcome is unknown, and those that a crash left between intent and outcome. */
  readonly inDoubt: readonly RecordedOperation[];
}

/** The service and the workspace that a ledger is bound to; empty before it is bound. */
export type RecordedOwner = Pick<Recorded, "serviceOrigin" | "workspace">;

/** What the ledger knows of drafts and products by name. */
export type RecordedNames = Pick<Recorded, "titles" | "publications" | "duplicates">;

/** Whether a ledger may be used for a service and a workspace: it is bound to them, or not bound yet. */
export function belongsTo(
  { serviceOrigin, workspace }: RecordedOwner,
  owner: { readonly origin: string; readonly workspace: string },
): boolean {
  return (
    (serviceOrigin ?? owner.origin) === owner.origin && (workspace ?? owner.workspace) === owner.workspace
  );
}

/** What is recorded where there is no ledger yet. */
export const emptyRecorded: Recorded = {
  lineage: noLineage,
  serial: 0,
  isConfirmed: false,
  titles: new Map(),
  protectedDrafts: new Set(),
  maybePublished: new Map(),
  attachments: [],
  publications: [],
  duplicates: [],
  uploads: [],
  storedObjects: [],
  refreshes: [],
  inDoubt: [],
};

/**
 * A file that is attached, as far as we know. `(draftId, kind, fileId)` is its identity at the service;
 * `address` is how the manifests name it, no other has the same, and it may change without a call.
 */
export interface RecordedAttachment {
  readonly draftId: number;
  readonly kind: FileKind;
  readonly fileId: number;
  readonly address: string;
  /** The attributes as last confirmed; a name that is absent is unknown. */
  readonly attributes: Attributes;
  /** SHA-256 (hex) of the content, when we uploaded it. */
  readonly sha256?: string;
  /** Another file has taken its place and its address, and it is still to be detached. */
  readonly replaced?: true;
  readonly provenance: Provenance;
}

/** A product that was published from a draft. The last revision of a draft is the one in force. */
export interface RecordedPublication {
  readonly draftId: number;
  readonly revision: number;
  readonly productId: number;
  readonly provenance: Provenance;
}

/** The publication in force of every draft: the one with the highest revision. */
export function publicationsInForce({
  publications,
}: Pick<Recorded, "publications">): ReadonlyMap<number, RecordedPublication> {
  const inForce = new Map<number, RecordedPublication>();
  for (const publication of publications) {
    const known = inForce.get(publication.draftId);
    if (known === undefined || publication.revision > known.revision)
      inForce.set(publication.draftId, publication);
  }
  return inForce;
}

/** The address under which a product is recorded; `undefined` when it is not. */
export function addressOfProduct(
  productId: number,
  { publications, duplicates }: Pick<Recorded, "publications" | "duplicates">,
): string | undefined {
  return addressesOfProducts({ publications, duplicates }).get(productId);
}

/** The address under which each product is recorded, by id. */
export function addressesOfProducts({
  publications,
  duplicates,
}: Pick<Recorded, "publications" | "duplicates">): Map<number, string> {
  return new Map([
    ...duplicates.map(
      ({ productId, name }) => [productId, formatAddress({ type: "duplicate", name })] as const,
    ),
    ...publications.map(({ productId, draftId }) => [productId, publicationAddress(draftId)] as const),
  ]);
}

/** The object of each upload that draftsync registered, by the id of the upload. */
export function keysOfUploads({ uploads }: Pick<Recorded, "uploads">): Map<string, string> {
  return new Map(
    uploads.flatMap(({ uploadId, uploadKey }) => (uploadKey === undefined ? [] : [[uploadId, uploadKey]])),
  );
}

/** A product that was made as a copy. `from` is what the manifest named when it was made. */
export interface RecordedDuplicate {
  readonly name: string;
  readonly from: ProductRef;
  readonly sourceProductId: number;
  readonly productId: number;
  readonly provenance: Provenance;
}

/** An upload: of a local source (with its digest), of a key that was in storage already, or named by its id in a manifest. */
export interface RecordedUpload {
  readonly uploadId: string;
  /** Absent for an upload that draftsync did not register. */
  readonly uploadKey?: string;
  readonly source?: string;
  readonly sha256?: string;
  readonly size?: number;
  readonly status: "pending" | "success" | "failed";
  /** Once `success`. */
  readonly fileId?: number;
  readonly at: number;
}

/** A local source whose bytes are in object storage, and which is not registered as an upload yet. */
export interface RecordedObject {
  readonly uploadKey: string;
  readonly source: string;
  readonly sha256: string;
  readonly size: number;
  readonly at: number;
}

/** When a resource was last fetched without being confirmed, epoch milliseconds. */
export interface RecordedRefresh {
  /** Its path at the service: `drafts/48213/product_files/9900011`, `products/771300`. */
  readonly resource: string;
  readonly at: number;
}

/** What one writing call does. */
export const operationKinds = ["attach", "update", "detach", "publish", "duplicate", "upload"] as const;

/** One of {@link operationKinds}. */
export type OperationKind = (typeof operationKinds)[number];

/** A writing call whose intent was stored. */
export interface RecordedOperation {
  readonly id: string;
  readonly runId: string;
  /** Of the change it belongs to. */
  readonly address: string;
  readonly kind: OperationKind;
  readonly method: string;
  readonly path: string;
  /** What the call was sent for: enough for a person or a probe to settle it. */
  readonly intent: OperationIntent;
  readonly startedAt: number;
  /** After a crash between intent and outcome: absent until the lock is taken over, then when its process was last there. */
  readonly finishedAt?: number;
  /** The HTTP status of a response that did not settle the outcome. */
  readonly status?: number;
  /** Why the outcome is unknown, in words. */
  readonly detail?: string;
}

/** The file of an operation; `undefined` for an operation without a file. */
export function targetOf({ intent }: Pick<RecordedOperation, "intent">): FileTarget | undefined {
  const { draftId, fileKind: kind, fileId } = intent;
  if (draftId === undefined || kind === undefined || fileId === undefined) return undefined;
  return { draftId, kind, fileId };
}

/** The arguments of a writing call, as far as the ledger needs them. */
export interface OperationIntent {
  readonly draftId?: number;
  readonly fileKind?: FileKind;
  readonly fileId?: number;
  readonly attributes?: Attributes;
  readonly revision?: number;
  readonly productId?: number;
  readonly name?: string;
  readonly uploadKey?: string;
  readonly sha256?: string;
  /** Of a call that adopts a file: the status with which its attachment was refused, so that another call attached it. */
  readonly refusedWith?: number;
}

/** With these statuses a service says, or a proxy may say, that an attachment attached nothing. */
const attachRefusals: ReadonlySet<number> = new Set([409, 422, 425, 429]);

/** Whether a call to attach a file that ended with this status attached nothing itself. */
export function isAttachRefusal(status: number | undefined): boolean {
  return status !== undefined && attachRefusals.has(status);
}
