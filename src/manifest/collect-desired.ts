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
import { type Attributes, pickAttributes } from "../model/resource.ts";
import type { SourceLocation } from "../model/source-location.ts";
import { formatLocation, locationAt, positionAt } from "../model/source-location.ts";
import { FolderDefaults } from "./folder-defaults.ts";
import type {
  ParsedAttachment,
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
    const attachments = draft.attachments.map((parsed) =>
      this.#attachment(parsed, { file, draftId, layouts }),
    );
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

  #attachment(
    parsed: ParsedAttachment,
    {
      file,
      draftId,
      layouts,
    }: { readonly file: string; readonly draftId: number; readonly layouts: readonly Layout[] },
  ): DesiredAttachment {
    const { kind, ref, refSpan: span, attributes, descriptionFile, position, layout } = parsed;
    const defaults = parsed.optsOut ? undefined : this.#defaults.of(posix.dirname(file), kind);
    const attachment: OpenAttachment = {
      address: { type: "attachment", draftId, kind, ref },
      attributes:
        defaults === undefined ? attributes : pickAttributes(kind, { ...defaults.attributes, ...attributes }),
      file,
      position,
      layout: layouts[layout] ?? {},
      ...(defaults === undefined ? {} : { defaults: defaults.locations }),
    };
    if (ref.by === "file_id") this.#noteFileId(ref.fileId, attachment, span);
    if (ref.by === "source") this.fileUses.push({ role: "source", file, path: ref.source, attachment, span });
    if (descriptionFile !== undefined) this.fileUses.push({ file, attachment, ...descriptionFile });
    return attachment;
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
    const folded = name.normalize("NFKC");
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
