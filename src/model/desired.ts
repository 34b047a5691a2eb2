import { z } from "zod";
import type { AttachmentAddress } from "./address.ts";
import { formatAddress } from "./address.ts";
import type { AttributeName, Attributes, FileKind } from "./resource.ts";
import type { Position, SourceLocation } from "./source-location.ts";

/** What the manifests ask for. The order is that of the files; nothing downstream may depend on it. */
export interface Desired {
  readonly drafts: readonly DesiredDraft[];
  readonly duplicates: readonly DesiredDuplicate[];
}

/** One draft document of a manifest. */
export interface DesiredDraft {
  readonly draftId: number;
  /** What people call the draft; absent when its document has no title. */
  readonly title?: string;
  /** Nothing of this draft may be deleted. */
  readonly protect: boolean;
  /** The lists that the document has, even empty. Recorded files of any other list are not managed: they stay. */
  readonly managed: readonly FileKind[];
  readonly attachments: readonly DesiredAttachment[];
  /** The revision to be published; absent when the manifest asks for no publication. */
  readonly publish?: { readonly revision: number; readonly position: Position };
  /** The manifest, relative to the workspace. */
  readonly file: string;
  readonly position: Position;
}

/** A file that must be attached, with the attributes that are managed. */
export interface DesiredAttachment {
  readonly address: AttachmentAddress;
  readonly attributes: Attributes;
  /** For a `source`: what was found on disk. */
  readonly content?: SourceContent;
  readonly file: string;
  /** Of the list entry. */
  readonly position: Position;
  /** Where the values stand below it. */
  readonly layout: Layout;
  /** Where the values stand that come from `defaults`; absent when none does. */
  readonly defaults?: Readonly<Partial<Record<AttributeName, SourceLocation>>>;
}

/**
 * Where the values of a list entry stand, by key, as offsets from it (`positionAt`); the file reference is under `ref`. Entries
 * that are laid out alike share one.
 */
export type Layout = Readonly<Partial<Record<AttributeName | "ref", Position>>>;

/** The desired attachments by the texts of their addresses. */
export function attachmentsByAddress({
  drafts,
}: Pick<Desired, "drafts">): ReadonlyMap<string, DesiredAttachment> {
  const byAddress = new Map<string, DesiredAttachment>();
  for (const { attachments } of drafts) {
    for (const attachment of attachments) byAddress.set(formatAddress(attachment.address), attachment);
  }
  return byAddress;
}

/** The content of a local source: SHA-256 in lower-case hex, size in bytes. */
export interface SourceContent {
  readonly sha256: string;
  readonly size: number;
}

/** A copy of a product that must exist, known by its name in the ledger. */
export interface DesiredDuplicate {
  readonly name: string;
  readonly product: ProductRef;
  readonly file: string;
  readonly position: Position;
}

/** A product by its id, or as the one that is published from a draft. */
export const productRefSchema = z.discriminatedUnion("by", [
  z.strictObject({ by: z.literal("product_id"), productId: z.int() }),
  z.strictObject({ by: z.literal("draft"), draftId: z.int() }),
]);

/** {@link productRefSchema} */
export type ProductRef = Readonly<z.output<typeof productRefSchema>>;
