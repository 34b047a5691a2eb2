import { posix } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseAllDocuments,
  Scalar,
  visit,
} from "yaml";
import { z } from "zod";
import type { FileRef } from "../model/address.ts";
import type { DesiredAttachment, DesiredDraft } from "../model/desired.ts";
import { attributeNames, type FileKind } from "../model/resource.ts";
import { formatLine } from "../model/source-location.ts";

/**
 * A draft as a document of a manifest, with every attribute that applies to it: the values of `defaults` have a comment with
 * their location, and descriptions from files are written out. Reading it gives the same draft. Ends with a line feed.
 */
export function formatDraft(draft: DesiredDraft): string {
  const document = new Document(draftValue(draft));
  document.commentBefore = ` ${formatLine(draft)}`;
  styleTexts(document);
  for (const kind of draft.managed) {
    const list = document.get(kind);
    if (!isSeq(list)) continue;
    for (const [index, attachment] of listed(draft, kind).entries())
      addComments(list.items[index], attachment);
  }
  return textOf(document).replace(unprintable, escapeCharacter);
}

/**
 * The text of a manifest with the files and publications of more drafts: a draft that it declares gets the entries at the end
 * of its lists, any other one a document of its own. Comments and the order of the text stay. `text` is a valid manifest, or
 * empty. Ends with a line feed. `undefined` when anything else would change with that, such as a list that has an alias.
 */
export function addDrafts(text: string, drafts: readonly DesiredDraft[]): string | undefined {
  const documents = documentsIn(text);
  const values = valuesOf(documents);
  for (const draft of drafts) {
    const at = documents.findIndex((each) => isMap(each.contents) && each.get("draft") === draft.draftId);
    const known = documents[at];
    if (known === undefined) {
      documents.push(styledDocument(draftValue(draft)));
      values.push(draftValue(draft));
    } else {
      addEntries(known, draft);
      values[at] = withEntries(membersSchema.parse(values[at]), draft);
    }
  }
  const lines = escapeQuoted(textOf(...documents));
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const written = mark + (text.includes("\r\n") ? lines.replaceAll("\n", "\r\n") : lines);
  return isDeepStrictEqual(valuesOf(documentsIn(written)), values) ? written : undefined;
}

/** Texts of the service are written in double quotes when they have characters that are not shown as they are. */
function escapeQuoted(text: string): string {
  const ranges: [number, number][] = [];
  for (const document of documentsIn(text))
    visit(document, {
      Scalar: (_key, { type, range }) => {
        if (type === Scalar.QUOTE_DOUBLE && range) ranges.push([range[0], range[1]]);
      },
    });
  let [escaped, end] = ["", 0];
  for (const [from, to] of ranges) {
    escaped += text.slice(end, from) + text.slice(from, to).replace(unprintable, escapeCharacter);
    end = to;
  }
  return escaped + text.slice(end);
}

/** An empty text has none. */
function documentsIn(text: string): Document[] {
  return [...parseAllDocuments(text)];
}

function valuesOf(documents: readonly Document[]): unknown[] {
  return documents.map((document) => document.toJS());
}

const membersSchema = z.record(z.string(), z.unknown());

/** What {@link addEntries} is to do, as values. */
function withEntries(value: Readonly<Record<string, unknown>>, draft: DesiredDraft): object {
  const lists = draft.managed.map((kind) => {
    const list = value[kind];
    const entries = listed(draft, kind).map((each) => entryOf(each, draft));
    return [kind, [...(Array.isArray(list) ? list : []), ...entries]] as const;
  });
  const publish = draft.publish === undefined ? {} : { publish: publishOf(draft.publish) };
  return { ...publish, ...value, ...Object.fromEntries(lists) };
}

/** The text of a manifest with these documents, which hold plain values, below a comment. Ends with a line feed. */
export function formatDocuments(values: readonly object[], comment: string): string {
  const documents = values.map((value) => styledDocument(value));
  const [first] = documents;
  if (first !== undefined) first.commentBefore = ` ${comment}`;
  return textOf(...documents);
}

function styledDocument(value: object): Document {
  const document = new Document(value);
  styleTexts(document);
  return document;
}

function addEntries(document: Document, draft: DesiredDraft): void {
  for (const kind of draft.managed) {
    const entries = listed(draft, kind).map((each) => entryOf(each, draft));
    const list = document.get(kind);
    if (!isSeq(list)) document.set(kind, styled(document, entries));
    else for (const entry of entries) list.add(styled(document, entry));
  }
  if (draft.publish !== undefined && !document.has("publish"))
    document.set("publish", document.createNode(publishOf(draft.publish)));
}

function styled(document: Document, value: unknown): Node {
  const node = document.createNode(value);
  styleTexts(node);
  return node;
}

function styleTexts(node: Document | Node): void {
  visit(node, { Scalar: (key, scalar) => void (key === "key" || styleText(scalar)) });
}

function textOf(...documents: readonly Document[]): string {
  const texts = documents.map((document, index) => {
    const text = document.toString({ lineWidth: 0 });
    return index === 0 || text.startsWith("---") || text.startsWith("%") ? text : `---\n${text}`;
  });
  return texts.join("");
}

function listed({ attachments }: DesiredDraft, kind: FileKind): readonly DesiredAttachment[] {
  return attachments.filter(({ address }) => address.kind === kind);
}

function draftValue(draft: DesiredDraft): object {
  const { draftId, title, protect, managed, publish } = draft;
  return {
    draft: draftId,
    ...(title === undefined ? {} : { title }),
    ...(protect ? { protect } : {}),
    ...Object.fromEntries(
      managed.map((kind) => [kind, listed(draft, kind).map((each) => entryOf(each, draft))]),
    ),
    ...(publish === undefined ? {} : { publish: publishOf(publish) }),
  };
}

function entryOf({ address, attributes }: DesiredAttachment, { file }: DesiredDraft): object {
  return { ...referenceOf(address.ref, file), ...attributes };
}

function publishOf({ revision }: NonNullable<DesiredDraft["publish"]>): true | { readonly revision: number } {
  return revision === 1 ? true : { revision };
}

function referenceOf(ref: FileRef, file: string): object {
  switch (ref.by) {
    case "file_id":
      return { file_id: ref.fileId };
    case "upload_id":
      return { upload_id: ref.uploadId };
    case "upload_key":
      return { upload_key: ref.uploadKey };
    case "source":
      return { source: posix.relative(posix.dirname(file), ref.source) };
  }
}

/** What is certainly read as text without quotes, by any YAML reader. */
const plain = /^(?!(?:true|false|null|yes|no|on|off|y|n)$)(?:\.\.?\/)*[a-z](?:[\w ./()+-]*[\w./()+-])?$/i;

/** Lines that a literal block keeps as they are, with at most one line feed at the end. */
const literal = /^[^\s\p{C}][^\p{C}\p{Zl}\p{Zp}]*(?:\n+[^\s\p{C}][^\p{C}\p{Zl}\p{Zp}]*)*\n?$/u;

/** In a document that was made here, only texts in double quotes and file names in comments have any of these. */
const unprintable = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu;

function escapeCharacter(character: string): string {
  const point = (character.codePointAt(0) ?? 0).toString(16);
  return point.length > 4 ? `\\U${point.padStart(8, "0")}` : `\\u${point.padStart(4, "0")}`;
}

function styleText(node: Scalar): void {
  if (typeof node.value !== "string" || plain.test(node.value)) return;
  const isBlock = node.value.includes("\n") && literal.test(node.value);
  node.type = isBlock ? Scalar.BLOCK_LITERAL : Scalar.QUOTE_DOUBLE;
}

function addComments(entry: unknown, { address, layout, defaults }: DesiredAttachment): void {
  if (!isMap(entry) || defaults === undefined) return;
  for (const name of attributeNames[address.kind]) {
    const location = defaults[name];
    const pair = entry.items.find(({ key }) => isScalar(key) && key.value === name);
    if (location !== undefined && layout[name] === undefined && isPair(pair))
      addComment(pair, ` ${location.file}:${location.line}`);
  }
}

/** After a value of one line, above the key of a block. */
function addComment({ key, value }: Pair, comment: string): void {
  if (!isScalar(key) || !isScalar(value)) return;
  if (value.type === Scalar.BLOCK_LITERAL) key.commentBefore = comment;
  else value.comment = comment;
}
