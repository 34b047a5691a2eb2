import { posix } from "node:path";
import { formatAddress } from "../model/address.ts";
import type {
  Desired,
  DesiredAttachment,
  DesiredDraft,
  DesiredDuplicate,
  Layout,
  SourceContent,
} from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { type AttributeName, type Attributes, type FileKind, pickAttributes } from "../model/resource.ts";
import type { SourceLocation } from "../model/source-location.ts";
import { formatLocation, locationAt, positionAt } from "../model/source-location.ts";
import type {
  ParsedAttachment,
  ParsedDefaults,
  ParsedDraft,
  ParsedDuplicate,
  ParsedFileUse,
  ParsedManifest,
} from "./parsed-manifest.ts";
import { quote, type SourceText, type Span, type YamlIssue } from "./source-text.ts";

/** An attachment whose local files `checkFiles` has not read yet. */
export interface OpenAttachment extends DesiredAttachment {
  attributes: Attributes;
  content?: SourceContent;
}

/** A local file that an attachment names. */
export interface FileUse extends ParsedFileUse {
  /** The manifest. */
  readonly file: string;
  /** Absent when the document is invalid. */
  readonly attachment?: OpenAttachment;
}

/** Reads the text of a manifest again, for the lines that a diagnostic shows: few manifests have one. */
export type TextOf = (file: string) => SourceText;

/** Merges parsed manifests, in the order of the files, and reports resources that several manifests declare. */
export class DesiredCollector {
  readonly fileUses: FileUse[] = [];
  readonly diagnostics: Diagnostic[] = [];
  readonly #textOf: TextOf;
  readonly #drafts: DesiredDraft[] = [];
  readonly #duplicates: DesiredDuplicate[] = [];
  readonly #draftLocations = new Map<number, SourceLocation>();
  readonly #names = new Map<string, SourceLocation>();
  readonly #fileIds = new Map<number, DesiredAttachment>();
  readonly #defaults = new FolderDefaults();

  constructor(textOf: TextOf) {
    this.#textOf = textOf;
  }

  /** The content of all manifests so far. */
  get desired(): Desired {
    return { drafts: this.#drafts, duplicates: this.#duplicates };
  }

  /** The files with a `defaults` document. */
  get filesWithDefaults(): readonly string[] {
    return this.#defaults.files;
  }

  /** Before the first {@link add}: defaults of any file apply to the others of its folder. */
  addDefaults(file: string, { defaults }: ParsedManifest): void {
    for (const parsed of defaults) {
      const first = this.#defaults.add(file, parsed);
      if (first === undefined) continue;
      this.#report(file, {
        code: "duplicate-defaults",
        message: `The defaults of this folder are at ${formatLocation(first)} already`,
        hint: "Keep one `defaults` document for each folder.",
        span: parsed.span,
      });
    }
  }

  add(file: string, manifest: ParsedManifest): void {
    for (const diagnostic of manifest.diagnostics) this.diagnostics.push(diagnostic);
    for (const draft of manifest.drafts) this.#addDraft(file, draft, manifest.layouts);
    for (const duplicate of manifest.duplicates) this.#addDuplicate(file, duplicate);
    for (const use of manifest.otherFiles) this.fileUses.push({ file, ...use });
  }

  #addDraft(file: string, draft: ParsedDraft, layouts: readonly Layout[]): void {
    const { draftId, title, protect, managed, publish, position, span } = draft;
    const first = this.#draftLocations.get(draftId);
    if (first !== undefined) {
      this.#report(file, {
        code: "duplicate-draft",
        message: `The draft ${draftId} is described already at ${formatLocation(first)}`,
        hint: "Keep one document for each draft, with all its files.",
        address: `drafts/${draftId}`,
        span,
      });
      return;
    }
    this.#draftLocations.set(draftId, locationAt(file, position));
    const folder = posix.dirname(file);
    const attachments = draft.attachments.map((parsed) => {
      const { kind, ref, layout } = parsed;
      const defaults = parsed.optsOut ? undefined : this.#defaults.of(folder, kind);
      const attachment: OpenAttachment = {
        address: { type: "attachment", draftId, kind, ref },
        attributes:
          defaults === undefined
            ? parsed.attributes
            : pickAttributes(kind, { ...defaults.attributes, ...parsed.attributes }),
        file,
        position: parsed.position,
        layout: layouts[layout] ?? {},
        ...(defaults === undefined ? {} : { defaults: defaults.locations }),
      };
      this.#noteFiles(attachment, parsed);
      return attachment;
    });
    this.#drafts.push({
      draftId,
      ...(title === undefined ? {} : { title }),
      protect,
      managed,
      attachments,
      ...(publish === undefined ? {} : { publish }),
      file,
      position,
    });
  }

  #noteFiles(attachment: OpenAttachment, { ref, refSpan: span, descriptionFile }: ParsedAttachment): void {
    const { file } = attachment;
    if (ref.by === "file_id") this.#noteFileId(ref.fileId, attachment, span);
    if (ref.by === "source") this.fileUses.push({ role: "source", file, path: ref.source, attachment, span });
    if (descriptionFile !== undefined) this.fileUses.push({ file, attachment, ...descriptionFile });
  }

  #noteFileId(fileId: number, attachment: DesiredAttachment, span: Span): void {
    const first = this.#fileIds.get(fileId);
    if (first === undefined) {
      this.#fileIds.set(fileId, attachment);
      return;
    }
    const { draftId } = first.address;
    if (draftId === attachment.address.draftId) return;
    const { ref } = first.layout;
    const place = locationAt(
      first.file,
      ref === undefined ? first.position : positionAt(first.position, ref),
    );
    this.#report(attachment.file, {
      severity: "warning",
      code: "file-in-two-drafts",
      message: `The file ${fileId} is attached to draft ${draftId} as well, at ${formatLocation(place)}`,
      hint: "Check that both drafts are meant to have it.",
      address: formatAddress(attachment.address),
      span,
    });
  }

  #addDuplicate(file: string, { duplicate, position, span }: ParsedDuplicate): void {
    const { name } = duplicate;
    // Two names that look the same must not name two copies.
    const folded = name
      .normalize("NFKC")
      .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
      .trim();
    const first = this.#names.get(folded);
    if (first === undefined) {
      this.#names.set(folded, locationAt(file, position));
      this.#duplicates.push(duplicate);
      return;
    }
    this.#report(file, {
      code: "duplicate-name",
      message: `The name ${quote(name)} is taken already at ${formatLocation(first)}`,
      hint: "Give each duplicate a name of its own; the ledger knows it by this name.",
      address: formatAddress({ type: "duplicate", name }),
      span,
    });
  }

  #report(file: string, issue: YamlIssue): void {
    this.diagnostics.push(this.#textOf(file).diagnose(issue));
  }
}

/** The attributes that entries of one list get from `defaults` documents. */
interface Defaults {
  readonly attributes: Attributes;
  readonly locations: Readonly<Partial<Record<AttributeName, SourceLocation>>>;
}

/** The `defaults` documents of a workspace, by folder. */
class FolderDefaults {
  readonly #byFolder = new Map<string, { readonly file: string; readonly parsed: ParsedDefaults }>();
  readonly #files = new Set<string>();
  readonly #merged = new Map<string, Defaults | undefined>();

  /** The files of the documents, also of those that were not added. */
  get files(): readonly string[] {
    return [...this.#files];
  }

  /** Adds a document, before the first {@link of}. Returns the location of an earlier one of the same folder, which stays. */
  add(file: string, parsed: ParsedDefaults): SourceLocation | undefined {
    this.#files.add(file);
    const folder = posix.dirname(file);
    const first = this.#byFolder.get(folder);
    if (first !== undefined) return locationAt(first.file, first.parsed.position);
    this.#byFolder.set(folder, { file, parsed });
    return undefined;
  }

  /** What applies to the entries of a list in a folder: of each attribute, the value of the nearest folder. */
  of(folder: string, kind: FileKind): Defaults | undefined {
    if (this.#byFolder.size === 0) return undefined;
    const key = `${kind} ${folder}`;
    if (!this.#merged.has(key)) this.#merged.set(key, this.#merge(folder, kind));
    return this.#merged.get(key);
  }

  #merge(folder: string, kind: FileKind): Defaults | undefined {
    const outer = folder === "." ? undefined : this.of(posix.dirname(folder), kind);
    const own = this.#byFolder.get(folder);
    if (own === undefined) return outer;
    const { file, parsed } = own;
    const values = parsed.values[kind];
    const locations = { ...outer?.locations };
    for (const name of Object.keys(values) as AttributeName[])
      locations[name] = locationAt(file, parsed.positions[name] ?? parsed.position);
    return { attributes: pickAttributes(kind, { ...outer?.attributes, ...values }), locations };
  }
}
