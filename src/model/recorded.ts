import { z } from "zod";
import { formatAddress, publicationAddress } from "./address.ts";
import { type ProductRef, productRefSchema } from "./desired.ts";
import { type Attributes, attributeShape, type FileTarget, fileKinds, fileResource } from "./resource.ts";
import { isoTime } from "./time.ts";

/** How a record came to be known, from the strongest evidence of a call to a person's word. */
export const confirmations = ["post", "patch", "get", "probe", "import", "operator"] as const;

/** One of {@link confirmations}. */
export type Confirmation = (typeof confirmations)[number];

/** How a record was confirmed, and when (epoch milliseconds). */
export const provenanceSchema = z.strictObject({ by: z.enum(confirmations), at: z.int() });

/** {@link provenanceSchema} */
export type Provenance = Readonly<z.output<typeof provenanceSchema>>;

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
  /** What was confirmed of the files of entries, by address, until another entry took the file over. */
  readonly keptValues: ReadonlyMap<string, Attributes>;
  readonly publications: readonly RecordedPublication[];
  readonly duplicates: readonly RecordedDuplicate[];
  readonly uploads: readonly RecordedUpload[];
  readonly storedObjects: readonly RecordedObject[];
  /** Resources that were fetched since their last confirmation and differed from their records. */
  readonly refreshes: readonly RecordedRefresh[];
  /** By address; absent for what was never recorded. */
  readonly versions: ReadonlyMap<string, RecordedVersion>;
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
  keptValues: new Map(),
  publications: [],
  duplicates: [],
  uploads: [],
  storedObjects: [],
  refreshes: [],
  versions: new Map(),
  inDoubt: [],
};

const text = z.string();
const integer = z.int();
const optionalText = text.exactOptional();
const optionalInteger = integer.exactOptional();
const attributesSchema = z.strictObject(attributeShape);

// The rows of the ledger have known columns, so z.object, which is faster, reads them; an import adds `.strict()`.

/**
 * A file that is attached, as far as we know. `(draftId, kind, fileId)` is its identity at the service;
 * `address` is how the manifests name it, no other has the same, and it may change without a call.
 */
export const attachmentSchema = z.object({
  draftId: integer,
  kind: z.enum(fileKinds),
  fileId: integer,
  address: text,
  /** The attributes as last confirmed; a name that is absent is unknown. */
  attributes: attributesSchema,
  /** SHA-256 (hex) of the content, when we uploaded it. */
  sha256: optionalText,
  /** The file that has taken its place and its address, while this one is still to be detached. */
  replacedBy: optionalInteger,
  /** The address that it had until the entry there got another file: its values are those of that entry. */
  formerAddress: optionalText,
  provenance: provenanceSchema,
});

/** {@link attachmentSchema} */
export type RecordedAttachment = Readonly<z.output<typeof attachmentSchema>>;

/** Whether the entry of a file has lost it, as a rule to another one. */
export function isLeftOver({ replacedBy, formerAddress }: RecordedAttachment): boolean {
  return replacedBy !== undefined || formerAddress !== undefined;
}

/** The values of an entry that waits for a file: another entry has taken over the one that it had, or may have. */
export const keptValuesSchema = z.object({ address: text, attributes: attributesSchema });

/** A product that was published from a draft. The last revision of a draft is the one in force. */
export const publicationSchema = z.object({
  draftId: integer,
  revision: integer,
  productId: integer,
  provenance: provenanceSchema,
});

/** {@link publicationSchema} */
export type RecordedPublication = Readonly<z.output<typeof publicationSchema>>;

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

/** The product that a reference means, among the {@link publicationsInForce}; `undefined` for a draft that has none. */
export function productIdOf(
  product: ProductRef,
  published: ReadonlyMap<number, RecordedPublication>,
): number | undefined {
  return product.by === "product_id" ? product.productId : published.get(product.draftId)?.productId;
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

/** A product that was made as a copy. `from` is what the manifest named when it was made. */
export const duplicateSchema = z.object({
  name: text.normalize("NFC"),
  from: productRefSchema,
  sourceProductId: integer,
  productId: integer,
  provenance: provenanceSchema,
});

/** {@link duplicateSchema} */
export type RecordedDuplicate = Readonly<z.output<typeof duplicateSchema>>;

/** An upload: of a local source (with its digest), of a key that was in storage already, or named by its id in a manifest. */
export const uploadSchema = z.object({
  uploadId: text,
  /** Absent for an upload that draftsync did not register. */
  uploadKey: optionalText,
  source: optionalText,
  sha256: optionalText,
  size: optionalInteger,
  status: z.enum(["pending", "success", "failed"]),
  /** Once `success`. */
  fileId: optionalInteger,
  at: integer,
});

/** {@link uploadSchema} */
export type RecordedUpload = Readonly<z.output<typeof uploadSchema>>;

/** A local source whose bytes are in object storage, and which is not registered as an upload yet. */
export const storedObjectSchema = z.object({
  uploadKey: text,
  source: text,
  sha256: text,
  size: integer,
  at: integer,
});

/** {@link storedObjectSchema} */
export type RecordedObject = Readonly<z.output<typeof storedObjectSchema>>;

/**
 * When a resource was last fetched without being confirmed, epoch milliseconds. `resource` is its path at the service:
 * `drafts/48213/product_files/9900011`, `products/771300`.
 */
export const refreshSchema = z.object({ resource: text, at: integer });

/** {@link refreshSchema} */
export type RecordedRefresh = Readonly<z.output<typeof refreshSchema>>;

/**
 * The last change of what is recorded for a draft (`drafts/48213`) or a duplicate (`duplicates/dragon-winter`). A confirmation
 * of what was recorded is none.
 */
export const versionSchema = z.object({
  address: text,
  /** The serial of the ledger at the change. */
  serial: integer,
  /** Id of the plan that made it; else of the run; empty for neither. */
  changedBy: text,
  /** The version before the latest changes by `changedBy`, as {@link formatVersion} writes it. */
  before: optionalText,
});

/** {@link versionSchema} */
export type RecordedVersion = Readonly<z.output<typeof versionSchema>>;

/** A version as text: equal texts, equal records. */
export function formatVersion({ serial, changedBy }: RecordedVersion): string {
  return `${serial}:${changedBy}`;
}

/** What one writing call does. */
export const operationKinds = ["attach", "update", "detach", "publish", "duplicate", "upload"] as const;

/** One of {@link operationKinds}. */
export type OperationKind = (typeof operationKinds)[number];

/** Whether a call makes a product, which cannot be undone. */
export function makesProduct(kind: string): kind is "publish" | "duplicate" {
  return kind === "publish" || kind === "duplicate";
}

const knownIntent = z.object({
  draftId: optionalInteger,
  fileKind: z.enum(fileKinds).exactOptional(),
  fileId: optionalInteger,
  attributes: attributesSchema.exactOptional(),
  revision: optionalInteger,
  productId: optionalInteger,
  name: optionalText,
  uploadKey: optionalText,
  sha256: optionalText,
  /** The recorded file whose place this one takes. */
  replaces: optionalInteger,
  /** Of an update that gives a recorded file to an entry: the address that the file has until then. */
  formerAddress: optionalText,
  /** The recorded file is another entry's, which stays and gets another file: its values are kept for that. */
  takesOver: z.literal(true).exactOptional(),
  /** Of an update that `draftsync doctor` sends without attributes: it shows no attachment of ours. */
  isProbe: z.literal(true).exactOptional(),
  /** Of a call that adopts a file: the status with which its attachment was refused, so that another call attached it. */
  refusedWith: optionalInteger,
});

/** The arguments of a writing call, as far as the ledger needs them. */
export type OperationIntent = Readonly<z.output<typeof knownIntent>>;

/** Keeps unknown members. */
export const intentSchema: z.ZodType<OperationIntent> = knownIntent.loose();

/** The intent of a writing call. */
export const newOperationSchema = z.object({
  id: text,
  runId: text,
  /** Of the change it belongs to. */
  address: text,
  kind: z.enum(operationKinds),
  method: text,
  path: text,
  /** What the call was sent for: enough for a person or a probe to settle it. */
  intent: intentSchema,
});

/** {@link newOperationSchema} */
export type NewOperation = Readonly<z.output<typeof newOperationSchema>>;

/** A writing call whose intent was stored. */
export const operationSchema = newOperationSchema.extend({
  startedAt: integer,
  /** After a crash between intent and outcome: absent until the lock is taken over, then when its process was last there. */
  finishedAt: optionalInteger,
  /** The HTTP status of the response, when there was one. */
  status: optionalInteger,
});

/** {@link operationSchema} */
export type RecordedOperation = Readonly<z.output<typeof operationSchema>> & {
  /** Why the outcome is unknown, in words. */
  readonly detail?: string;
};

/** The file of an operation; `undefined` for an operation without a file. */
export function targetOf({ intent }: Pick<RecordedOperation, "intent">): FileTarget | undefined {
  const { draftId, fileKind: kind, fileId } = intent;
  if (draftId === undefined || kind === undefined || fileId === undefined) return undefined;
  return { draftId, kind, fileId };
}

/** The path of that file ({@link fileResource}). */
export function fileResourceOf(operation: Pick<RecordedOperation, "intent">): string | undefined {
  const target = targetOf(operation);
  return target && fileResource(target);
}
