import { productFileFields, promotionalFileFields } from "./body-schemas.ts";
import { JSON_API } from "./media-types.ts";
import type { Behavior } from "./options.ts";
import type { Attachment, Product, StorageSession, Upload } from "./store.ts";

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

/** Ids of attachments with `dataId: other`, beyond every file id. */
const FIRST_ATTACHMENT_ID = 8_000_000_000_000_000;

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

/** An upload at a time. */
export interface UploadView extends Pick<Upload, "id" | "uploadKey"> {
  readonly status: "queued" | "processing" | "success" | "failed";
  /** The id of its file, once `success`. */
  readonly fileId: number | null;
  /** Why it failed, once `failed`. */
  readonly message: string | null;
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

/** Storage credentials. */
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

/** A product, with its draft if it has one. */
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

/** A draft, for `include=draft`. The document lists no fields of it; these are its current files. */
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

/** A response with a document; 204 has none. */
export function respond(status: number, document: object, headers: Record<string, string> = {}): Response {
  if (status === 204) return new Response(null, { status, headers });
  return new Response(JSON.stringify(document), {
    status,
    headers: { ...headers, "content-type": JSON_API },
  });
}
