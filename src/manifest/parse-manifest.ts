import { posix } from "node:path";
import type { FileRef } from "../model/address.ts";
import { formatAddress, formatFileRef } from "../model/address.ts";
import type { Layout, ProductRef } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { AttributeName, FileKind } from "../model/resource.ts";
import { attributeNames, fileKinds, pickAttributes } from "../model/resource.ts";
import type { Position } from "../model/source-location.ts";
import { lineOf, offsetFrom } from "../model/source-location.ts";
import type { Located } from "./located.ts";
import type { DefaultsDocument, DraftDocument, DuplicatesDocument } from "./manifest-schema.ts";
import { chooseDocument, referenceNames } from "./manifest-schema.ts";
import { digestOf, type ParsedFile } from "./parse-cache.ts";
import type {
  FileRole,
  ParsedAttachment,
  ParsedDefaults,
  ParsedDraft,
  ParsedDuplicate,
  ParsedFileUse,
  ParsedManifest,
} from "./parsed-manifest.ts";
import { readManifest } from "./read-manifest.ts";
import { readYaml } from "./read-yaml.ts";
import { quote, type SourceText, type Span, type YamlIssue } from "./source-text.ts";

type Entry = NonNullable<DraftDocument["product_files"] | DraftDocument["promotional_files"]>[number];

/** For a larger file, compiling the schema pays even if it is the only one. */
const largestOfFew = 64 * 1024;

/** Reads and parses one file, relative to `root`. A file that cannot be read gives a diagnostic. */
export function parseFile(root: string, file: string, options?: ParseOptions): ParsedFile {
  const read = readManifest(root, file);
  if (read.ok) {
    const { bytes, version } = read;
    return { digest: digestOf(file, bytes), version, parsed: parseManifest(file, bytes, options) };
  }
  return {
    parsed: {
      drafts: [],
      duplicates: [],
      defaults: [],
      layouts: [],
      otherFiles: [],
      diagnostics: [read.diagnostic],
    },
  };
}

/** `isOneOfFew`: compiling the schema takes longer than it saves. */
interface ParseOptions {
  readonly isOneOfFew?: boolean;
}

/** Parses the content of one file, relative to the workspace. Never throws. */
export function parseManifest(
  file: string,
  bytes: Uint8Array,
  { isOneOfFew = false }: ParseOptions = {},
): ParsedManifest {
  const isLittle = isOneOfFew && bytes.length <= largestOfFew;
  const read = readYaml({ file, bytes, schema: chooseDocument, isLittle });
  const builder = new ManifestBuilder(read.source, read.ok ? [] : read.errors);
  for (const { value, root } of read.ok ? read.documents : read.sound) {
    if ("draft" in value) builder.addDraft(value, root);
    else if ("duplicates" in value) builder.addDuplicates(value, root);
    else builder.addDefaults(value, root);
  }
  if (!read.ok) for (const misfit of read.misfits) builder.addPartsOf(misfit);
  return builder.manifest;
}

/** Collects the documents of a file, and reports files that one list names twice. Keeps no parsed node. */
class ManifestBuilder {
  readonly #text: SourceText;
  readonly #drafts: ParsedDraft[] = [];
  readonly #duplicates: ParsedDuplicate[] = [];
  readonly #defaults: ParsedDefaults[] = [];
  readonly #otherFiles: ParsedFileUse[] = [];
  readonly #diagnostics: Diagnostic[];
  readonly #layouts: Layout[] = [];
  /** Index of each layout, by its content. */
  readonly #layoutIndexes = new Map<string, number>();

  constructor(text: SourceText, diagnostics: readonly Diagnostic[]) {
    this.#text = text;
    this.#diagnostics = [...diagnostics];
  }

  get manifest(): ParsedManifest {
    return {
      drafts: this.#drafts,
      duplicates: this.#duplicates,
      defaults: this.#defaults,
      layouts: this.#layouts,
      otherFiles: this.#otherFiles,
      diagnostics: this.#diagnostics,
    };
  }

  addDraft(document: DraftDocument, root: Located): void {
    const draftId = document.draft;
    const { position, span } = root.closest(["draft"]);
    const attachments: ParsedAttachment[] = [];
    for (const kind of fileKinds) {
      const list = { kind, draftId, seen: new Map<string, Span>() };
      const places = root.closest([kind]);
      for (const [index, entry] of (document[kind] ?? []).entries()) {
        const attachment = this.#attachment(list, entry, places.at(index));
        if (attachment !== undefined) attachments.push(attachment);
      }
    }
    const revision = revisionOf(document.publish);
    this.#drafts.push({
      draftId,
      ...(document.title === undefined ? {} : { title: document.title }),
      protect: document.protect ?? false,
      managed: fileKinds.filter((kind) => document[kind] !== undefined),
      ...(revision === undefined
        ? {}
        : { publish: { revision, position: root.closest(["publish"]).position } }),
      position,
      span,
      attachments,
    });
  }

  addDuplicates(document: DuplicatesDocument, root: Located): void {
    const places = root.at("duplicates");
    for (const [index, { name, product }] of document.duplicates.entries()) {
      const place = places.at(index);
      const { span, position } = place.closest(["name"]);
      const duplicate = {
        // An editor or a file system may change the Unicode form of a letter; the name is the same.
        name: name.normalize("NFC"),
        product: productOf(product),
        file: this.#text.file,
        position: place.position,
      };
      this.#duplicates.push({ duplicate, position, span });
    }
  }

  addDefaults({ defaults }: DefaultsDocument, root: Located): void {
    const { position, keySpan: span } = root.at("defaults");
    const values = {
      product_files: pickAttributes("product_files", defaults.product_files ?? {}),
      promotional_files: pickAttributes("promotional_files", defaults.promotional_files ?? {}),
    };
    const positions: Partial<Record<AttributeName, Position>> = {};
    for (const kind of fileKinds)
      for (const name of attributeNames[kind])
        if (values[kind][name] !== undefined)
          positions[name] = root.closest(["defaults", kind, name]).position;
    this.#defaults.push({ position, span, values, positions });
  }

  /** Collects the local files and the place of defaults of an invalid document; reports files that one list names twice. */
  addPartsOf(root: Located): void {
    if (root.get("defaults") !== undefined) this.addDefaults({ defaults: {} }, root);
    for (const kind of fileKinds) {
      const entries = root.get(kind);
      const list = { kind, seen: new Map<string, Span>() };
      let index = 0;
      for (let entry = entries?.get(index); entry !== undefined; entry = entries?.get(index)) {
        this.#addPart(list, entry);
        index += 1;
      }
    }
  }

  #addPart(list: FileList, entry: Located): void {
    for (const name of referenceNames) {
      const place = entry.get(name);
      const text = place?.written?.text ?? "";
      if (place === undefined || text === "") continue;
      const id = name === "file_id" ? text : `${name}:${text}`;
      if (this.#isTwice(list, { id, span: place.span })) continue;
      if (name === "source") this.#addFileUse(name, text, place.span);
    }
    const description = entry.get("description_file");
    const path = description?.written?.text ?? "";
    if (description !== undefined && path !== "")
      this.#addFileUse("description_file", path, description.span);
  }

  #addFileUse(role: FileRole, path: string, span: Span): void {
    if (path.includes("\\") || posix.isAbsolute(path)) return;
    const use = this.#fileUse(role, path, span);
    if (use !== undefined) this.#otherFiles.push(use);
  }

  /** A local file that an entry names; `undefined`, and reported, outside of the workspace. */
  #fileUse(role: FileRole, path: string, span: Span): ParsedFileUse | undefined {
    const below = belowWorkspace(path, this.#text.file);
    if (below !== undefined) return { role, path: below, span };
    this.#report({ ...outsideSource, span });
    return undefined;
  }

  /** An entry of a valid document; `undefined`, and reported, when it cannot be used. */
  #attachment(
    list: FileList & { readonly draftId: number },
    entry: Entry,
    place: Located,
  ): ParsedAttachment | undefined {
    const { kind, draftId } = list;
    const { key, ref } = refOf(entry, this.#text.file);
    const { span } = place.closest([key]);
    if (ref === undefined) {
      this.#report({ ...outsideSource, span });
      return undefined;
    }
    const address = formatAddress({ type: "attachment", draftId, kind, ref });
    if (this.#isTwice(list, { id: formatFileRef(ref), span, address })) return undefined;
    const text = "description_file" in entry ? entry.description_file : undefined;
    const descriptionFile =
      text === undefined
        ? undefined
        : this.#fileUse("description_file", text, place.at("description_file").span);
    return {
      kind,
      ref,
      refSpan: span,
      attributes: pickAttributes(kind, entry),
      ...(descriptionFile === undefined ? {} : { descriptionFile }),
      ...(entry.defaults === false ? { optsOut: true } : {}),
      position: place.position,
      layout: this.#layoutOf(kind, entry, place),
    };
  }

  /** Reports a file that is already in the list; notes any other one. */
  #isTwice(
    { kind, seen }: FileList,
    { id, span, address }: { readonly id: string; readonly span: Span; readonly address?: string },
  ): boolean {
    const first = seen.get(id);
    if (first === undefined) {
      seen.set(id, span);
      return false;
    }
    this.#report({
      code: "duplicate-file",
      message: `The file ${quote(id)} is in ${kind} already, on line ${lineOf(this.#text.position(first[0]))}`,
      hint: "Keep one of the two entries.",
      ...(address === undefined ? {} : { address }),
      span,
      related: first,
    });
    return true;
  }

  #layoutOf(kind: FileKind, entry: Entry, place: Located): number {
    const { position } = place;
    const layout: Partial<Record<AttributeName | "ref", number>> = {};
    let id: string = kind;
    const note = (name: AttributeName | "ref", key: string) => {
      if (Object.hasOwn(entry, key)) layout[name] = offsetFrom(position, place.closest([key]).position);
      id += ` ${layout[name]}`;
    };
    for (const key of referenceNames) note("ref", key);
    for (const name of attributeNames[kind])
      note(name, name === "description" && "description_file" in entry ? "description_file" : name);
    const index = this.#layoutIndexes.get(id) ?? this.#layouts.push(layout) - 1;
    this.#layoutIndexes.set(id, index);
    return index;
  }

  #report(issue: YamlIssue): void {
    this.#diagnostics.push(this.#text.diagnose(issue));
  }
}

/** A list of files, and the files in it so far, by name. */
interface FileList {
  readonly kind: FileKind;
  readonly seen: Map<string, Span>;
}

const outsideSource = {
  code: "source-outside-workspace",
  message: "The source is outside of the workspace",
  hint: "Put the file below the folder of draftsync.yaml; the path is relative to this manifest.",
};

/** The file reference of an entry; without `ref` for a source outside of the workspace. */
function refOf(entry: Entry, file: string): { readonly key: string; readonly ref: FileRef | undefined } {
  const { file_id: fileId, upload_id: uploadId, upload_key: uploadKey, source = "" } = entry;
  if (fileId !== undefined) return { key: "file_id", ref: { by: "file_id", fileId } };
  if (uploadId !== undefined) return { key: "upload_id", ref: { by: "upload_id", uploadId } };
  if (uploadKey !== undefined) return { key: "upload_key", ref: { by: "upload_key", uploadKey } };
  const path = belowWorkspace(source, file);
  return { key: "source", ref: path === undefined ? undefined : { by: "source", source: path } };
}

/** The path of a source relative to the workspace instead of its manifest; `undefined` outside of the workspace. */
function belowWorkspace(source: string, file: string): string | undefined {
  const path = posix.join(posix.dirname(file), source).replace(/\/$/, "");
  return path === "." || path === ".." || path.startsWith("../") ? undefined : path;
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
