import type { FileKind, FileTarget } from "./resource.ts";
import { isFileKind } from "./resource.ts";

/**
 * How an attachment's file is named before (or without) its numeric file id.
 * `source` paths are relative to the workspace and use forward slashes.
 */
export type FileRef =
  | { readonly by: "file_id"; readonly fileId: number }
  | { readonly by: "source"; readonly source: string }
  | { readonly by: "upload_id"; readonly uploadId: string }
  | { readonly by: "upload_key"; readonly uploadKey: string };

/**
 * The path of a resource in the interface. A plan, a log and an HTTP trace contain the same text.
 *
 * | type | text |
 * |---|---|
 * | draft | `drafts/48213` |
 * | attachment | `drafts/48213/product_files/9900011`, `…/source:files/dragon.blend`, `…/upload_id:ab1`, `…/upload_key:in/a.mp4` |
 * | publication | `drafts/48213/product` |
 * | duplicate | `duplicates/dragon-winter` |
 * | upload | `uploads/files/dragon.blend` |
 */
export type Address =
  | { readonly type: "draft"; readonly draftId: number }
  | AttachmentAddress
  | { readonly type: "publication"; readonly draftId: number }
  | { readonly type: "duplicate"; readonly name: string }
  | { readonly type: "upload"; readonly source: string };

/** The address of a file that is attached to a draft. */
export interface AttachmentAddress {
  readonly type: "attachment";
  readonly draftId: number;
  readonly kind: FileKind;
  readonly ref: FileRef;
}

/** The last segment of an attachment's address: `9900011`, `source:…`, `upload_id:…` or `upload_key:…`. */
export function formatFileRef(ref: FileRef): string {
  switch (ref.by) {
    case "file_id":
      return String(ref.fileId);
    case "source":
      return `source:${ref.source}`;
    case "upload_id":
      return `upload_id:${ref.uploadId}`;
    case "upload_key":
      return `upload_key:${ref.uploadKey}`;
  }
}

/** The text of an address; {@link parseAddress} reads it back. */
export function formatAddress(address: Address): string {
  switch (address.type) {
    case "draft":
      return `drafts/${address.draftId}`;
    case "attachment":
      return `drafts/${address.draftId}/${address.kind}/${formatFileRef(address.ref)}`;
    case "publication":
      return publicationAddress(address.draftId);
    case "duplicate":
      return `duplicates/${address.name}`;
    case "upload":
      return `uploads/${address.source}`;
  }
}

/** The address of what is published from a draft. */
export function publicationAddress(draftId: number): string {
  return `drafts/${draftId}/product`;
}

/** Reads an address back; `undefined` when the text is none. The name of a duplicate is in NFC, as everywhere. */
export function parseAddress(text: string): Address | undefined {
  const slash = text.indexOf("/");
  const head = text.slice(0, slash);
  const rest = text.slice(slash + 1);
  if (slash < 0 || rest === "") return undefined;
  if (head === "duplicates") return { type: "duplicate", name: rest.normalize("NFC") };
  if (head === "uploads") return { type: "upload", source: rest };
  return head === "drafts" ? parseDraftAddress(rest) : undefined;
}

/** The id of the draft that an address is, or is below; `undefined` for any other text. */
export function draftIdOf(address: string): number | undefined {
  const parsed = parseAddress(address);
  return parsed !== undefined && "draftId" in parsed ? parsed.draftId : undefined;
}

/** The file that an entry of a draft names. Throws a TypeError for an address of anything else. */
export function targetAt(address: string, fileId: number): FileTarget {
  const parsed = parseAddress(address);
  if (parsed?.type !== "attachment") throw new TypeError(`${address} is not an attachment`);
  return { draftId: parsed.draftId, kind: parsed.kind, fileId };
}

/** The address of what an address is about, as a whole: its draft, or the duplicate. */
export function wholeAddress(address: string): string {
  const draftId = draftIdOf(address);
  return draftId === undefined ? address : `drafts/${draftId}`;
}

/** The recorded form of an address; any other text stays as it is. */
export function normalAddress(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : formatAddress(address);
}

/** An address or a path as an argument on a command line: quoted when it holds more than plain characters. */
export function quoteArgument(text: string): string {
  return /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Sorts addresses (and any text) by UTF-16 code units: the same order on every machine and locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function parseDraftAddress(rest: string): Address | undefined {
  const [id, below] = cut(rest);
  const draftId = parseId(id);
  if (draftId === undefined) return undefined;
  if (below === undefined) return { type: "draft", draftId };
  const [kind, file] = cut(below);
  if (file === undefined) return kind === "product" ? { type: "publication", draftId } : undefined;
  const ref = parseFileRef(file);
  if (!isFileKind(kind) || ref === undefined) return undefined;
  return { type: "attachment", draftId, kind, ref };
}

/** What is before the first slash, and all that is behind it. */
function cut(text: string): [string, string?] {
  const slash = text.indexOf("/");
  return slash < 0 ? [text] : [text.slice(0, slash), text.slice(slash + 1)];
}

/** Reads the last segment of an attachment's address; `undefined` when it is none. */
export function parseFileRef(text: string): FileRef | undefined {
  const colon = text.indexOf(":");
  if (colon < 0) {
    const fileId = parseId(text);
    return fileId === undefined ? undefined : { by: "file_id", fileId };
  }
  const value = text.slice(colon + 1);
  if (value === "") return undefined;
  switch (text.slice(0, colon)) {
    case "source":
      return { by: "source", source: value };
    case "upload_id":
      return { by: "upload_id", uploadId: value };
    case "upload_key":
      return { by: "upload_key", uploadKey: value };
    default:
      return undefined;
  }
}

/**
 * Reads an id as the interface writes it in a path: decimal digits, no sign, no leading zero,
 * at least 1 and at most 2^53 - 1. `undefined` when the text is anything else.
 */
export function parseId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : undefined;
}

/** Whether an id names something in a path. An empty segment, `.` and `..` name another path, whatever their encoding (RFC 3986 §6.2.2.3). */
export function isSegment(id: string): boolean {
  return !["", ".", ".."].includes(id);
}
