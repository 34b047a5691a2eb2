import { posix } from "node:path";
import { Document, isMap, isPair, isScalar, isSeq, type Pair, Scalar, visit } from "yaml";
import type { FileRef } from "../model/address.ts";
import type { DesiredAttachment, DesiredDraft } from "../model/desired.ts";
import { attributeNames } from "../model/resource.ts";
import { formatLine } from "../model/source-location.ts";

/**
 * A draft as a document of a manifest, with every attribute that applies to it: the values of `defaults` have a comment with
 * their location, and descriptions from files are written out. Reading it gives the same draft. Ends with a line feed.
 */
export function formatDraft(draft: DesiredDraft): string {
  const { draftId, title, protect, managed, attachments, publish, file } = draft;
  const listed = (kind: DesiredAttachment["address"]["kind"]) =>
    attachments.filter(({ address }) => address.kind === kind);
  const document = new Document({
    draft: draftId,
    ...(title === undefined ? {} : { title }),
    ...(protect ? { protect } : {}),
    ...Object.fromEntries(managed.map((kind) => [kind, listed(kind).map((each) => entryOf(each))])),
    ...(publish === undefined
      ? {}
      : { publish: publish.revision === 1 ? true : { revision: publish.revision } }),
  });
  document.commentBefore = ` ${formatLine(draft)}`;
  visit(document, { Scalar: (key, node) => void (key === "key" || styleText(node)) });
  for (const kind of managed) {
    const list = document.get(kind);
    if (!isSeq(list)) continue;
    for (const [index, attachment] of listed(kind).entries()) addComments(list.items[index], attachment);
  }
  return document.toString({ lineWidth: 0 }).replace(unprintable, escapeCharacter);

  function entryOf({ address, attributes }: DesiredAttachment) {
    return { ...referenceOf(address.ref, file), ...attributes };
  }
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

/** Only texts in double quotes, and file names in comments, have any of these. */
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
