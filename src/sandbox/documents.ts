import type { Behavior } from "./behavior.ts";
import { productFileFields, promotionalFileFields } from "./body-schemas.ts";
import { FIRST_ATTACHMENT_ID } from "./id-ranges.ts";
import { JSON_API } from "./media-types.ts";
import type { Attachment } from "./store/attachments.ts";
import type { Product } from "./store/products.ts";
import type { StorageSession } from "./store/sessions.ts";
import type { UploadView } from "./upload-status.ts";

/** A resource object (JSON:API 1.1). Ids are strings in documents. */
export interface Resource {
  type: string;
  id: string;
  attributes: Record<string, unknown>;
  relationships?: Record<string, { data: { type: string; id: string } | null }>;
}

const FIELDS = {
  product_file: Object.keys(productFileFields),
  promotional_file: Object.keys(promotionalFileFields),
};

/** An attachment: its file id and every field, `null` where it was never set. */
export function attachmentResource(attachment: Attachment, behavior: Behavior): Resource {
  const fields = FIELDS[attachment.kind].map((name) => [name, attachment.attributes[name] ?? null]);
  const id = behavior.dataId === "file" ? attachment.fileId : FIRST_ATTACHMENT_ID + attachment.number;
  return {
    type: attachment.kind,
    id: String(id),
    attributes: { file_id: attachment.fileId, ...Object.fromEntries(fields) },
  };
}

/** An upload; `file_id` once it succeeded, `message` once it failed. */
export function uploadResource(upload: UploadView): Resource {
  return {
    type: "upload",
    id: upload.id,
    attributes: {
      upload_key: upload.uploadKey,
      status: upload.status,
      ...(upload.fileId === null ? {} : { file_id: upload.fileId }),
      ...(upload.message === null ? {} : { message: upload.message }),
    },
  };
}

/** Storage credentials. The endpoint is the sandbox itself, path style. */
export function credentialResource(
  session: StorageSession,
  storage: { endpoint: string; bucket: string; region: string },
): Resource {
  return {
    type: "upload_credential",
    id: session.accessKey,
    attributes: {
      key_prefix: session.keyPrefix,
      bucket: storage.bucket,
      region: storage.region,
      access_key: session.accessKey,
      secret_key: session.secretKey,
      session_token: session.token,
      expiration: new Date(session.expiresAt).toISOString(),
      endpoint: storage.endpoint,
    },
  };
}

/** A product, with the draft it came from where there is one. */
export function productResource(product: Product, { relationships }: Behavior): Resource {
  const draft = product.draftId === null ? null : { type: "draft", id: String(product.draftId) };
  return {
    type: "product",
    id: String(product.id),
    attributes: {
      published_at: product.publishedAt === null ? null : new Date(product.publishedAt).toISOString(),
      duplicate_of: product.duplicateOf,
    },
    ...(relationships === "omitted" ? {} : { relationships: { draft: { data: draft } } }),
  };
}

/** A draft, for `include=draft`. The document shows no fields of it; these say what is attached now. */
export function draftResource(draftId: number, attachments: readonly Attachment[]): Resource {
  const ids = (kind: Attachment["kind"]) =>
    attachments.filter((attachment) => attachment.kind === kind).map((attachment) => attachment.fileId);
  return {
    type: "draft",
    id: String(draftId),
    attributes: {
      product_file_ids: ids("product_file"),
      promotional_file_ids: ids("promotional_file"),
    },
  };
}

/** An answer with a document; 204 has none. */
export function answer(status: number, document: object, headers: Record<string, string> = {}): Response {
  if (status === 204) return new Response(null, { status, headers });
  return new Response(JSON.stringify(document), {
    status,
    headers: { ...headers, "content-type": JSON_API },
  });
}
