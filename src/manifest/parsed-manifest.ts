import type { DesiredAttachment, DesiredDuplicate, SourceContent } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { FileKind } from "../model/resource.ts";
import type { Position } from "../model/source-location.ts";
import type { Span } from "./source-text.ts";

/**
 * What one manifest asks for by itself. Plain data without the parsed text, so that it can come from another thread or
 * from a run before; what can only be seen across manifests is found by `DesiredCollector`.
 */
export interface Page {
  readonly drafts: readonly PageDraft[];
  readonly duplicates: readonly PageDuplicate[];
  /** Local files of documents that cannot be taken over: they are checked all the same. */
  readonly loose: readonly LooseSource[];
  /** What is wrong with the file by itself. */
  readonly diagnostics: readonly Diagnostic[];
}

/** One draft document. */
export interface PageDraft {
  readonly draftId: number;
  readonly protect: boolean;
  /** The lists that the document has, even empty. */
  readonly managed: readonly FileKind[];
  readonly publish?: { readonly revision: number; readonly position: Position };
  readonly position: Position;
  /** Of the draft's id. */
  readonly span: Span;
  readonly attachments: readonly OpenAttachment[];
  /** Where the names of their files stand: start and end of the first, of the second, and so on. */
  readonly spans: readonly number[];
}

/** An attachment whose source is still to be looked at. */
export interface OpenAttachment extends DesiredAttachment {
  content?: SourceContent;
}

/** An entry of a list of duplicates, and where its name stands. */
export interface PageDuplicate {
  readonly duplicate: DesiredDuplicate;
  readonly position: Position;
  readonly span: Span;
}

/** A local file that is named, relative to the workspace. */
export interface LooseSource {
  readonly path: string;
  readonly span: Span;
}
