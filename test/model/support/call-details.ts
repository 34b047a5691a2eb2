import type { Attributes } from "../../../src/model/resource.ts";
import type { Passing } from "../../support/faulty-proxy.ts";

/** A call that changes something at the service, the handing out of storage credentials aside. */
export function isWrite({ method, path }: Passing): boolean {
  return method !== "GET" && path.startsWith("/api/") && path !== "/api/uploads/credentials";
}

/** What a call makes that cannot be undone: `draft 1` for its publication, `product 7` for a copy of it. */
export function irrevocableOf({ method, path, body }: Passing): string | undefined {
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

/** The file that an update or a detachment is of. */
export function fileOf({ path }: Passing): string | undefined {
  return path.startsWith("/api/drafts/") ? path.slice("/api/".length) : undefined;
}

/** The attributes that a call sets. */
export function attributesOf({ body }: Passing): Attributes {
  const { file_id, ...attributes } = JSON.parse(body).data.attributes ?? {};
  return attributes;
}

/** The parts of the name of a file of a draft, as records and as intents hold them. */
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
