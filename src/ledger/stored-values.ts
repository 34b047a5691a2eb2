import type {
  RecordedAttachment,
  RecordedDuplicate,
  RecordedObject,
  RecordedPublication,
} from "../model/recorded.ts";
import { pickAttributes } from "../model/resource.ts";
import type { AttachmentsTable, DuplicatesTable, PublicationsTable, StoredObjectsTable } from "./schema.ts";

/** The row of a record. */
export function attachmentValues(attachment: RecordedAttachment): AttachmentsTable {
  const { draftId, kind, fileId, address, attributes, sha256, replaced, provenance } = attachment;
  return {
    draft_id: draftId,
    kind,
    file_id: fileId,
    address,
    attributes: JSON.stringify(pickAttributes(kind, attributes)),
    sha256: sha256 ?? null,
    replaced: replaced ? 1 : 0,
    confirmed_by: provenance.by,
    confirmed_at: provenance.at,
  };
}

/** The row of a publication. */
export function publicationValues(publication: RecordedPublication): PublicationsTable {
  const { draftId, revision, productId, provenance } = publication;
  return {
    draft_id: draftId,
    revision,
    product_id: productId,
    confirmed_by: provenance.by,
    confirmed_at: provenance.at,
  };
}

/** The row of bytes in storage. */
export function objectValues({ uploadKey, source, sha256, size, at }: RecordedObject): StoredObjectsTable {
  return { upload_key: uploadKey, source, sha256, size, stored_at: at };
}

/** The row of a duplicate. */
export function duplicateValues(duplicate: RecordedDuplicate): DuplicatesTable {
  const { name, from, sourceProductId, productId, provenance } = duplicate;
  return {
    name,
    from_product_id: from.by === "product_id" ? from.productId : null,
    from_draft_id: from.by === "draft" ? from.draftId : null,
    source_product_id: sourceProductId,
    product_id: productId,
    confirmed_by: provenance.by,
    confirmed_at: provenance.at,
  };
}
