import type { FileRef } from "../model/address.ts";
import type { DesiredDuplicate, Layout } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { AttributeName, Attributes, FileKind } from "../model/resource.ts";
import type { Position } from "../model/source-location.ts";
import type { Span } from "./source-text.ts";

/**
 * The content of one manifest. It is plain JSON without the parsed nodes, so that a worker can return it and the parse
 * cache can hold it. `DesiredCollector` finds the mistakes that concern several manifests.
 */
export interface ParsedManifest {
  readonly drafts: readonly ParsedDraft[];
  readonly duplicates: readonly ParsedDuplicate[];
  readonly defaults: readonly ParsedDefaults[];
  /** The layouts of all attachments: most of them share a few. */
  readonly layouts: readonly Layout[];
  /** Local files of invalid documents: they are checked too, so that one run reports all mistakes. */
  readonly otherFiles: readonly ParsedFileUse[];
  /** The mistakes in this file. */
  readonly diagnostics: readonly Diagnostic[];
}

/** One draft document. */
export interface ParsedDraft {
  readonly draftId: number;
  readonly title?: string;
  readonly protect: boolean;
  /** The lists that the document has, even empty. */
  readonly managed: readonly FileKind[];
  readonly publish?: { readonly revision: number; readonly position: Position };
  readonly position: Position;
  /** Of the draft's id. */
  readonly span: Span;
  readonly attachments: readonly ParsedAttachment[];
}

/** An entry of a list of files. */
export interface ParsedAttachment {
  readonly kind: FileKind;
  readonly ref: FileRef;
  readonly refSpan: Span;
  readonly attributes: Attributes;
  readonly descriptionFile?: ParsedFileUse;
  /** Whether the defaults of its folder do not apply. */
  readonly optsOut?: true;
  readonly position: Position;
  /** Index into the layouts of the manifest. */
  readonly layout: number;
}

/** An entry of a list of duplicates. */
export interface ParsedDuplicate {
  readonly duplicate: DesiredDuplicate;
  /** Of its name, as the span. */
  readonly position: Position;
  readonly span: Span;
}

/** One document of defaults. */
export interface ParsedDefaults {
  readonly position: Position;
  readonly span: Span;
  readonly values: Readonly<Record<FileKind, Attributes>>;
  readonly positions: Readonly<Partial<Record<AttributeName, Position>>>;
}

/** What a local file is for. */
export type FileRole = "source" | "description_file";

/** A local file that an entry names; its path is relative to the workspace. */
export interface ParsedFileUse {
  readonly role: FileRole;
  readonly path: string;
  readonly span: Span;
}
