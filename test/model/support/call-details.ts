import type { Attributes } from "../../../src/model/resource.ts";
import type { Passing } from "../../support/faulty-proxy.ts";

/** A call that changes the service, except for requests for storage credentials. An update without a value only reads. */
export function isWrite({ method, path, body }: Passing): boolean {
  if (method === "PATCH" && Object.keys(JSON.parse(body).data.attributes ?? {}).length === 0) return false;
  return method !== "GET" && path.startsWith("/api/") && path !== "/api/uploads/credentials";
}

/** The source of an irreversible call: `draft 1` for a publish, `product 7` for a duplicate. */
export function nonIdempotentOf({ method, path, body }: Passing): string | undefined {
  if (method !== "POST" || !path.startsWith("/api/products")) return undefined;
  const [, , , copied] = path.split("/");
  if (copied !== undefined) return `product ${copied}`;
  return `draft ${body.startsWith("{") ? JSON.parse(body).data.relationships.draft.data.id : body}`;
}

/** `drafts/1/product_files/11`, for a request that attaches it. */
export function attachedBy({ method, path, body }: Passing): string | undefined {
  if (method !== "POST" || !path.startsWith("/api/drafts/")) return undefined;
  return `${path.slice("/api/".length)}/${JSON.parse(body).data.attributes.file_id}`;
}

/** The file of an update or detachment. */
export function fileOf({ path }: Passing): string | undefined {
  return path.startsWith("/api/drafts/") ? path.slice("/api/".length) : undefined;
}

/** The attributes that a call sets. */
export function attributesOf({ body }: Passing): Attributes {
  const { file_id, ...attributes } = JSON.parse(body).data.attributes ?? {};
  return attributes;
}

/** The parts of the name of a draft's file in records and intents. */
export interface FileParts {
  readonly draftId?: number;
  readonly kind?: string;
  readonly fileKind?: string;
  readonly fileId?: number;
}

/** `drafts/1/product_files/11` */
export function nameOf({ draftId, kind, fileKind = kind, fileId }: FileParts): string {
  return `drafts/${draftId}/${fileKind}/${fileId}`;
}
