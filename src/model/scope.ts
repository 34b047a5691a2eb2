import type { Address } from "./address.ts";
import { formatAddress, parseAddress, parseId } from "./address.ts";
import type { FileKind } from "./resource.ts";
import { isFileKind } from "./resource.ts";

/**
 * What an address on a command line selects.
 *
 * | text | selects |
 * |---|---|
 * | `drafts`, `duplicates`, `uploads` | all of them |
 * | `drafts/48213` | the draft and everything below it |
 * | `drafts/48213/product_files` | every file of the collection |
 * | any other address | exactly that resource |
 */
export type AddressScope =
  | { readonly type: "all"; readonly of: Root }
  | { readonly type: "draft"; readonly draftId: number }
  | { readonly type: "collection"; readonly draftId: number; readonly kind: FileKind }
  | { readonly type: "exact"; readonly address: string };

const roots = ["drafts", "duplicates", "uploads"] as const;
type Root = (typeof roots)[number];

/** Reads a scope; `undefined` when the text is none. A slash at the end is ignored where no name can end with it. */
export function parseScope(text: string): AddressScope | undefined {
  const trimmed = text.replace(/\/$/, "");
  const root = roots.find((each) => each === trimmed);
  if (root !== undefined) return { type: "all", of: root };
  const [head, id = "", kind, ...rest] = trimmed.split("/");
  const draftId = parseId(id);
  if (head === "drafts" && draftId !== undefined) {
    if (kind === undefined) return { type: "draft", draftId };
    if (isFileKind(kind) && rest.length === 0) return { type: "collection", draftId, kind };
  }
  const address = parseAddress(text);
  return address === undefined ? undefined : { type: "exact", address: formatAddress(address) };
}

/** Whether an address is in a scope. Compares parsed addresses: names may hold slashes, and one may begin with another. */
export function isInScope(address: string, scope: AddressScope): boolean {
  if (scope.type === "exact") return address === scope.address;
  const parsed = parseAddress(address);
  if (parsed === undefined) return false;
  if (scope.type === "all") return rootOf(parsed) === scope.of;
  if (!("draftId" in parsed) || parsed.draftId !== scope.draftId) return false;
  return scope.type === "draft" || (parsed.type === "attachment" && parsed.kind === scope.kind);
}

function rootOf({ type }: Address): Root {
  switch (type) {
    case "draft":
    case "attachment":
    case "publication":
      return "drafts";
    case "duplicate":
      return "duplicates";
    case "upload":
      return "uploads";
  }
}
