import { posix } from "node:path";
import type { AttachmentAddress, FileRef } from "../model/address.ts";
import { formatAddress, formatFileRef } from "../model/address.ts";
import type {
  Desired,
  DesiredAttachment,
  DesiredDraft,
  DesiredDuplicate,
  ProductRef,
  SourceContent,
} from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Place } from "../model/position.ts";
import { formatPlace, lineOf, placeAt } from "../model/position.ts";
import type { AttributeName, Attributes, FileKind } from "../model/resource.ts";
import { attributeNames, fileKinds, pickAttributes } from "../model/resource.ts";
import type { Located } from "./located.ts";
import type { DraftDocument, DuplicatesDocument, ManifestDocument } from "./manifest-schema.ts";
import { quote } from "./quote.ts";
import type { YamlDocument } from "./read-yaml.ts";
import type { Finding, SourceText, Span } from "./source-text.ts";

/** An attachment whose source is still to be looked at. */
export interface OpenAttachment extends DesiredAttachment {
  content?: SourceContent;
}

/** A local file that an attachment names. */
export interface SourceUse {
  /** Relative to the workspace, normalised. */
  readonly path: string;
  /** Absent when the document is not fit to be taken over. */
  readonly attachment?: OpenAttachment;
  readonly span: Span;
  readonly text: SourceText;
}

type Entry = NonNullable<DraftDocument["product_files"] | DraftDocument["promotional_files"]>[number];

/**
 * Takes documents over, one after the other in the order of the files, and finds what can only be seen across
 * entries and files: things that are listed twice. Nothing of the parsed documents is kept.
 */
export class DesiredCollector {
  readonly sourceUses: SourceUse[] = [];
  readonly diagnostics: Diagnostic[] = [];
  readonly #drafts: DesiredDraft[] = [];
  readonly #duplicates: DesiredDuplicate[] = [];
  readonly #draftPlaces = new Map<number, Place>();
  readonly #names = new Map<string, Place>();
  readonly #fileIds = new Map<number, DesiredAttachment>();

  /** Everything that was taken over. */
  get desired(): Desired {
    return { drafts: this.#drafts, duplicates: this.#duplicates };
  }

  add(document: YamlDocument<ManifestDocument>, text: SourceText): void {
    const { value, root } = document;
    if ("draft" in value) this.#addDraft(value, root, text);
    else this.#addDuplicates(value, root, text);
  }

  /** Notes the local files that a document names which cannot be taken over, so that they are checked all the same. */
  addSourcesOf(root: Located, text: SourceText): void {
    for (const kind of fileKinds) {
      const entries = root.get(kind);
      for (let index = 0; ; index += 1) {
        const entry = entries?.get(index);
        if (entry === undefined) break;
        const source = entry.get("source");
        const path = source?.written?.text ?? "";
        if (source === undefined || path === "" || path.includes("\\") || posix.isAbsolute(path)) continue;
        const below = belowWorkspace(path, text.file);
        if (below === undefined) this.#report(text, { ...outsideSource, span: source.span });
        else this.sourceUses.push({ path: below, span: source.span, text });
      }
    }
  }

  #addDraft(document: DraftDocument, root: Located, text: SourceText): void {
    const draftId = document.draft;
    const id = root.closest(["draft"]);
    const first = this.#draftPlaces.get(draftId);
    if (first !== undefined) {
      this.#report(text, {
        code: "duplicate-draft",
        message: `The draft ${draftId} is described already at ${formatPlace(first)}`,
        hint: "Keep one document for each draft, with all its files.",
        address: `drafts/${draftId}`,
        span: id.span,
      });
      return;
    }
    const position = id.position;
    this.#draftPlaces.set(draftId, placeAt(text.file, position));
    const attachments: DesiredAttachment[] = [];
    for (const kind of fileKinds) this.#addFiles({ kind, draftId, document, root, text }, attachments);
    const revision = revisionOf(document.publish);
    this.#drafts.push({
      draftId,
      protect: document.protect ?? false,
      attachments,
      ...(revision === undefined
        ? {}
        : { publish: { revision, position: root.closest(["publish"]).position } }),
      file: text.file,
      position,
    });
  }

  #addFiles(list: FileList, attachments: DesiredAttachment[]): void {
    const entries: readonly Entry[] = list.document[list.kind] ?? [];
    const places = list.root.get(list.kind);
    const seen = new Map<string, Span>();
    for (const [index, entry] of entries.entries()) {
      const place = places?.get(index);
      if (place === undefined) continue;
      const attachment = this.#attachment(list, entry, place, seen);
      if (attachment !== undefined) attachments.push(attachment);
    }
  }

  #attachment(
    list: FileList,
    entry: Entry,
    place: Located,
    seen: Map<string, Span>,
  ): OpenAttachment | undefined {
    const { kind, draftId, text } = list;
    const named = refOf(entry, text.file);
    const refPlace = place.closest([named.key]);
    if (named.ref === undefined) {
      this.#report(text, { ...outsideSource, span: refPlace.span });
      return undefined;
    }
    const address: AttachmentAddress = { type: "attachment", draftId, kind, ref: named.ref };
    const id = formatFileRef(named.ref);
    const first = seen.get(id);
    if (first !== undefined) {
      this.#report(text, {
        code: "duplicate-file",
        message: `The file ${quote(id)} is in ${kind} already, on line ${lineOf(text.position(first[0]))}`,
        hint: "Keep one of the two entries.",
        address: formatAddress(address),
        span: refPlace.span,
        related: first,
      });
      return undefined;
    }
    seen.set(id, refPlace.span);
    const attributes = pickAttributes(kind, entry);
    const attachment: OpenAttachment = {
      address,
      attributes,
      file: text.file,
      position: place.position,
      positions: positionsOf(kind, attributes, place, refPlace),
    };
    if (named.ref.by === "source") {
      this.sourceUses.push({ path: named.ref.source, attachment, span: refPlace.span, text });
    }
    if (named.ref.by === "file_id") this.#noteFileId(named.ref.fileId, attachment, refPlace.span, text);
    return attachment;
  }

  #noteFileId(fileId: number, attachment: DesiredAttachment, span: Span, text: SourceText): void {
    const first = this.#fileIds.get(fileId);
    if (first === undefined) {
      this.#fileIds.set(fileId, attachment);
      return;
    }
    const { draftId } = first.address;
    if (draftId === attachment.address.draftId) return;
    const place = placeAt(first.file, first.positions.ref ?? first.position);
    this.#report(text, {
      severity: "warning",
      code: "file-in-two-drafts",
      message: `The file ${fileId} is attached to draft ${draftId} as well, at ${formatPlace(place)}`,
      hint: "Check that both drafts are meant to have it.",
      address: formatAddress(attachment.address),
      span,
    });
  }

  #addDuplicates(document: DuplicatesDocument, root: Located, text: SourceText): void {
    const places = root.get("duplicates");
    for (const [index, { name, product }] of document.duplicates.entries()) {
      const place = places?.get(index);
      if (place === undefined) continue;
      const { span, position } = place.closest(["name"]);
      // Names that look the same must not stand for two copies.
      const folded = name.normalize("NFKC");
      const first = this.#names.get(folded);
      if (first === undefined) {
        this.#names.set(folded, placeAt(text.file, position));
        this.#duplicates.push({
          name,
          product: productOf(product),
          file: text.file,
          position: place.position,
        });
        continue;
      }
      this.#report(text, {
        code: "duplicate-name",
        message: `The name ${quote(name)} is taken already at ${formatPlace(first)}`,
        hint: "Give each duplicate a name of its own; the ledger knows it by this name.",
        address: formatAddress({ type: "duplicate", name }),
        span,
      });
    }
  }

  #report(text: SourceText, finding: Finding): void {
    this.diagnostics.push(text.diagnose(finding));
  }
}

interface FileList {
  readonly kind: FileKind;
  readonly draftId: number;
  readonly document: DraftDocument;
  readonly root: Located;
  readonly text: SourceText;
}

const outsideSource = {
  code: "source-outside-workspace",
  message: "The source is outside of the workspace",
  hint: "Put the file below the folder of draftsync.yaml; the path is relative to this manifest.",
};

/** How an entry names its file; without `ref` when a source is not below the workspace. */
function refOf(entry: Entry, file: string): { readonly key: string; readonly ref: FileRef | undefined } {
  const { file_id: fileId, upload_id: uploadId, upload_key: uploadKey, source = "" } = entry;
  if (fileId !== undefined) return { key: "file_id", ref: { by: "file_id", fileId } };
  if (uploadId !== undefined) return { key: "upload_id", ref: { by: "upload_id", uploadId } };
  if (uploadKey !== undefined) return { key: "upload_key", ref: { by: "upload_key", uploadKey } };
  const path = belowWorkspace(source, file);
  return { key: "source", ref: path === undefined ? undefined : { by: "source", source: path } };
}

/** A source, which is relative to its manifest, relative to the workspace; `undefined` when it is not below it. */
function belowWorkspace(source: string, file: string): string | undefined {
  const path = posix.join(posix.dirname(file), source).replace(/\/$/, "");
  return path === "." || path === ".." || path.startsWith("../") ? undefined : path;
}

function positionsOf(kind: FileKind, attributes: Attributes, place: Located, ref: Located) {
  const positions: Partial<Record<AttributeName | "ref", number>> = { ref: ref.position };
  for (const name of attributeNames[kind]) {
    if (attributes[name] !== undefined) positions[name] = place.closest([name]).position;
  }
  return positions;
}

function revisionOf(publish: DraftDocument["publish"]): number | undefined {
  if (publish === undefined || publish === false) return undefined;
  return publish === true ? 1 : publish.revision;
}

function productOf(product: DuplicatesDocument["duplicates"][number]["product"]): ProductRef {
  return typeof product === "number"
    ? { by: "product_id", productId: product }
    : { by: "draft", draftId: product.draft };
}
