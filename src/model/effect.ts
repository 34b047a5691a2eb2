import { z } from "zod";
import {
  attachmentSchema,
  duplicateSchema,
  provenanceSchema,
  publicationSchema,
  refreshSchema,
  storedObjectSchema,
  uploadSchema,
} from "./recorded.ts";
import { fileKinds } from "./resource.ts";

const text = z.string();
const integer = z.int();
const name = text.normalize("NFC");
const target = z.strictObject({ draftId: integer, kind: z.enum(fileKinds), fileId: integer });
const ended = z.enum(["success", "failed"]);

function effect<Type extends string, Shape extends z.core.$ZodShape>(type: Type, shape: Shape) {
  return z.strictObject({ type: z.literal(type), ...shape });
}

/** What an operation, or a change without a call, alters in the ledger. */
export const effectSchema = z.discriminatedUnion("type", [
  effect("attached", {
    attachment: attachmentSchema,
    /** The file this one takes the place of: its record, if still at this address, moves to its numeric one until it is detached. */
    replaces: integer.exactOptional(),
  }),
  // Rewrites the record of `(draftId, kind, fileId)`: other address, attributes or provenance.
  effect("rerecorded", { attachment: attachmentSchema }),
  // The manifests name a recorded file another way. Nothing was confirmed, so attributes and provenance stay; `sha256` is
  // noted when it is known; `replaces` as above; `takesOver`: the entry that had the file stays, so its values are kept;
  // `formerAddress`: see the record.
  effect("readdressed", {
    target,
    address: text,
    sha256: text.exactOptional(),
    replaces: integer.exactOptional(),
    takesOver: z.literal(true).exactOptional(),
    formerAddress: text.exactOptional(),
  }),
  effect("detached", { target }),
  // An entry that waits for a file gives up its values.
  effect("values_forgotten", { address: text }),
  // The bytes of a source are in storage. Until they are registered, the next run starts from there.
  effect("object_stored", storedObjectSchema.shape),
  // The service does not take the object: its bytes must be uploaded again.
  effect("object_forgotten", { uploadKey: text }),
  effect("published", publicationSchema.shape),
  effect("duplicated", duplicateSchema.shape),
  effect("duplicate_forgotten", { name }),
  // A recorded product was read: its publications and duplicates have this provenance from now on.
  effect("product_confirmed", { productId: integer, provenance: provenanceSchema }),
  // A resource was fetched and not confirmed: the next refresh fetches others first.
  effect("refreshed", refreshSchema.shape),
  effect("protection", { draftId: integer, protect: z.boolean() }),
  // The title of the draft, for when no document declares it any more.
  effect("titled", { draftId: integer, title: text }),
  // A file of the draft was attached before this ledger recorded it, so the draft may be published as well.
  effect("maybe_published", { draftId: integer, at: integer }),
  // A person has checked that it is not published; a publication that is recorded settles it, too.
  effect("maybe_published_settled", { draftId: integer }),
  // Also forgets that an object of this key waits to be registered.
  effect("upload_registered", {
    ...uploadSchema.pick({ uploadId: true, source: true, sha256: true, size: true, at: true }).shape,
    uploadKey: text,
  }),
  // The outcome of an operation in doubt was found by other means than repeating it.
  effect("settled", { operationId: text, outcome: z.enum(["done", "rejected", "not_sent", "superseded"]) }),
  // An upload that a manifest names by its id; recorded also when draftsync did not register it.
  effect("upload_found", {
    uploadId: text,
    status: uploadSchema.shape.status,
    fileId: integer.exactOptional(),
    at: integer,
  }),
  // Nothing follows for an upload that the ledger does not hold.
  effect("upload_ended", { uploadId: text, status: ended, fileId: integer.exactOptional() }),
]);

/** {@link effectSchema} */
export type LedgerEffect = Readonly<z.output<typeof effectSchema>>;
