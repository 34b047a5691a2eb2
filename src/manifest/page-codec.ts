import type { FileRef } from "../model/address.ts";
import type { Layout } from "../model/desired.ts";
import type { FileKind } from "../model/resource.ts";
import { attributeNames, fileKinds } from "../model/resource.ts";
import type { OpenAttachment, Page, PageDraft } from "./page.ts";

type Value = string | number | boolean | null;

/** What is said of a draft itself, the spans of its files, and these, kind by kind. */
type DraftRow = readonly [
  head: readonly Value[],
  spans: readonly number[],
  ...files: (readonly (readonly Value[])[])[],
];

/**
 * A page as one line of JSON. Of what there may be a hundred thousand of, only the values are kept, in a fixed order: a
 * page is read back in a fraction of the time in which its manifest is parsed.
 */
export function encodePage({ drafts, duplicates, loose, diagnostics }: Page): string {
  const layouts = new Map<Layout, number>();
  const rows = drafts.map((draft) => draftRow(draft, layouts));
  return JSON.stringify([[...layouts.keys()], rows, duplicates, loose, diagnostics]);
}

/** Reads {@link encodePage} back. `file` is the manifest that the page is of. Throws when the text is no page. */
export function decodePage(file: string, text: string): Page {
  const [layouts, rows, duplicates, loose, diagnostics] = JSON.parse(text);
  if (![duplicates, loose, diagnostics].every(Array.isArray)) throw new TypeError("lists are expected");
  const drafts = rows.map((row: DraftRow) => draftOf(row, { file, layouts }));
  return { drafts, duplicates, loose, diagnostics };
}

function draftRow(
  { draftId, protect, managed, publish, position, span, attachments, spans }: PageDraft,
  layouts: Map<Layout, number>,
): DraftRow {
  const files = fileKinds.map((kind) =>
    attachments
      .filter(({ address }) => address.kind === kind)
      .map((attachment) => fileRow(attachment, layouts)),
  );
  const kinds = fileKinds.map((kind) => managed.includes(kind));
  const head = [
    draftId,
    protect,
    ...kinds,
    position,
    ...span,
    publish?.revision ?? 0,
    publish?.position ?? 0,
  ];
  return [head, spans, ...files];
}

/** What the rows of a page share. */
interface Shared {
  readonly file: string;
  readonly layouts: readonly Layout[];
}

function draftOf([head, spans, ...files]: DraftRow, shared: Shared): PageDraft {
  const [id, protect, ...others] = head;
  const kinds = others.slice(0, fileKinds.length);
  const [position, start, end, revision, publishedAt] = others.slice(fileKinds.length);
  const draftId = integer(id);
  const publish = { revision: integer(revision), position: integer(publishedAt) };
  const attachments: OpenAttachment[] = [];
  for (const [index, kind] of fileKinds.entries()) {
    for (const values of files[index] ?? [])
      attachments.push(attachmentOf(values, { draftId, kind, ...shared }));
  }
  return {
    draftId,
    protect: flag(protect),
    managed: fileKinds.filter((_kind, index) => flag(kinds[index])),
    position: integer(position),
    span: [integer(start), integer(end)],
    ...(publish.revision === 0 ? {} : { publish }),
    attachments,
    spans,
  };
}

function fileRow(
  { address, attributes, position, layout }: OpenAttachment,
  layouts: Map<Layout, number>,
): readonly Value[] {
  const place = layouts.get(layout) ?? layouts.size;
  layouts.set(layout, place);
  const row: Value[] = [...refValues(address.ref), position, place];
  for (const name of attributeNames[address.kind]) row.push(attributes[name] ?? null);
  return row;
}

function attachmentOf(
  values: readonly Value[],
  { draftId, kind, file, layouts }: Shared & { readonly draftId: number; readonly kind: FileKind },
): OpenAttachment {
  const ref = refOf(values);
  const rest = ref.by === "file_id" ? 1 : 2;
  const position = integer(values[rest]);
  const layout = layouts[integer(values[rest + 1])];
  if (typeof layout !== "object") throw new TypeError("a layout is expected");
  const attributes: Record<string, string | boolean> = {};
  for (const [index, name] of attributeNames[kind].entries()) {
    const value = values[rest + 2 + index];
    if (value !== null) attributes[name] = name === "is_native" ? flag(value) : text(value);
  }
  const address = { type: "attachment", draftId, kind, ref } as const;
  return { address, attributes, file, position, layout };
}

/** A file id stands for itself; any other name comes after what it is. */
function refValues(ref: FileRef): readonly Value[] {
  switch (ref.by) {
    case "file_id":
      return [ref.fileId];
    case "source":
      return [ref.by, ref.source];
    case "upload_id":
      return [ref.by, ref.uploadId];
    case "upload_key":
      return [ref.by, ref.uploadKey];
  }
}

function refOf([first, second]: readonly Value[]): FileRef {
  if (typeof first === "number") return { by: "file_id", fileId: first };
  switch (first) {
    case "source":
      return { by: first, source: text(second) };
    case "upload_id":
      return { by: first, uploadId: text(second) };
    case "upload_key":
      return { by: first, uploadKey: text(second) };
    default:
      throw new TypeError("a name of a file is expected");
  }
}

function integer(value: Value | undefined): number {
  if (typeof value === "number") return value;
  throw new TypeError("a number is expected");
}

function text(value: Value | undefined): string {
  if (typeof value === "string") return value;
  throw new TypeError("a text is expected");
}

function flag(value: Value | undefined): boolean {
  if (typeof value === "boolean") return value;
  throw new TypeError("true or false is expected");
}
