import { formatAddress } from "../model/address.ts";
import type { Desired, DesiredAttachment, DesiredDraft, DesiredDuplicate } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { SourceLocation } from "../model/source-location.ts";
import { formatLocation, locationAt, positionAt } from "../model/source-location.ts";
import type { OpenAttachment, Page, PageDraft, PageDuplicate } from "./page.ts";
import { quote } from "./quote.ts";
import type { SourceText, Span, YamlIssue } from "./source-text.ts";

/** A local file that an attachment names. */
export interface SourceUse {
  /** The manifest. */
  readonly file: string;
  /** Relative to the workspace, normalised. */
  readonly path: string;
  /** Absent when the document is not fit to be taken over. */
  readonly attachment?: OpenAttachment;
  readonly span: Span;
}

/** The text of a manifest, for the lines that a diagnostic shows: read anew, since hardly any has one. */
export type TextOf = (file: string) => SourceText;

/** Puts pages together, in the order of the files, and finds what can only be seen across them: things that are listed twice. */
export class DesiredCollector {
  readonly sourceUses: SourceUse[] = [];
  readonly diagnostics: Diagnostic[] = [];
  readonly #textOf: TextOf;
  readonly #drafts: DesiredDraft[] = [];
  readonly #duplicates: DesiredDuplicate[] = [];
  readonly #draftPlaces = new Map<number, SourceLocation>();
  readonly #names = new Map<string, SourceLocation>();
  readonly #fileIds = new Map<number, DesiredAttachment>();

  constructor(textOf: TextOf) {
    this.#textOf = textOf;
  }

  /** Everything that was taken over. */
  get desired(): Desired {
    return { drafts: this.#drafts, duplicates: this.#duplicates };
  }

  add(file: string, page: Page): void {
    for (const diagnostic of page.diagnostics) this.diagnostics.push(diagnostic);
    for (const draft of page.drafts) this.#addDraft(file, draft);
    for (const duplicate of page.duplicates) this.#addDuplicate(file, duplicate);
    for (const source of page.loose) this.sourceUses.push({ file, ...source });
  }

  #addDraft(file: string, draft: PageDraft): void {
    const { draftId, protect, managed, publish, position, span, attachments, spans } = draft;
    const first = this.#draftPlaces.get(draftId);
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
    this.#draftPlaces.set(draftId, locationAt(file, position));
    for (const [index, attachment] of attachments.entries()) {
      const { ref } = attachment.address;
      if (ref.by !== "file_id" && ref.by !== "source") continue;
      const nameSpan = [spans[2 * index] ?? 0, spans[2 * index + 1] ?? 0] as const;
      if (ref.by === "file_id") this.#noteFileId(ref.fileId, attachment, nameSpan);
      else this.sourceUses.push({ file, path: ref.source, attachment, span: nameSpan });
    }
    this.#drafts.push({
      draftId,
      protect,
      managed,
      attachments,
      ...(publish === undefined ? {} : { publish }),
      file,
      position,
    });
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

  #addDuplicate(file: string, { duplicate, position, span }: PageDuplicate): void {
    const { name } = duplicate;
    // Names that look the same must not stand for two copies.
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
