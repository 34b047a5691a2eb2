import type { FileTarget } from "../model/ports.ts";

/** The path of an attached file at the service, whatever address the manifests have for it. */
export function resourceOf({ draftId, kind, fileId }: FileTarget): string {
  return `drafts/${draftId}/${kind}/${fileId}`;
}

/** The path of a product at the service. */
export function productResource(productId: number): string {
  return `products/${productId}`;
}
