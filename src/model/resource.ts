import { z } from "zod";

/** The two collections of files a draft has, named as in the interface's paths. */
export const fileKinds = ["product_files", "promotional_files"] as const;

/** One of {@link fileKinds}. */
export type FileKind = (typeof fileKinds)[number];

/** Whether a text names one of the two collections. */
export function isFileKind(text: string | undefined): text is FileKind {
  return text === "product_files" || text === "promotional_files";
}

/** A file of a draft: what identifies an attachment at the service. */
export interface FileTarget {
  readonly draftId: number;
  readonly kind: FileKind;
  readonly fileId: number;
}

/** The path of an attached file at the service, whatever address the manifests have for it; also the address that names it by its id. */
export function fileResource({ draftId, kind, fileId }: FileTarget): string {
  return `drafts/${draftId}/${kind}/${fileId}`;
}

/** The path of a product at the service. */
export function productResource(productId: number): string {
  return `products/${productId}`;
}

const text = z.string().exactOptional();

/** The attributes of a file that the interface lets a client set, in the order in which plans and requests show them. */
const productFile = z.strictObject({
  file_format: text,
  format_version: text,
  renderer: text,
  renderer_version: text,
  is_native: z.boolean().exactOptional(),
});
const promotionalFile = z.strictObject({ description: text });

/** The schema of each attribute; each may be absent. */
export const attributeShape = { ...productFile.shape, ...promotionalFile.shape };

/** Attribute names by collection, in the same order. */
export const attributeNames = {
  product_files: productFile.keyof().options,
  promotional_files: promotionalFile.keyof().options,
} as const satisfies Record<FileKind, readonly string[]>;

/** Those of both, product files first. */
export const allAttributeNames = [...attributeNames.product_files, ...attributeNames.promotional_files];

/** The name of an attribute of either collection. */
export type AttributeName = (typeof attributeNames)[FileKind][number];

/**
 * Attributes of an attachment. A name that is absent is *not managed* (never sent, never compared);
 * `""` is a value like any other and clears the text at the service.
 */
export type Attributes = Readonly<z.output<typeof productFile> & z.output<typeof promotionalFile>>;

type LooseAttributes = { [Name in AttributeName]?: Attributes[Name] | undefined };

/** The attributes of `source` that belong to a collection, in canonical order, absent ones left out. */
export function pickAttributes(kind: FileKind, source: Readonly<LooseAttributes>): Attributes {
  const picked: Record<string, string | boolean> = {};
  for (const name of attributeNames[kind]) {
    const value = source[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

/** The attributes of these names, absent ones left out. */
export function pickNamed(attributes: Attributes, names: readonly string[]): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => names.includes(name)));
}

/** What a file without these attributes has: empty texts, and `false`. */
export function clearedAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === "boolean" ? false : ""]),
  );
}

/** The attributes but empty texts, which a file without them has, too. */
export function withoutEmpty(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ""));
}

/** The attributes but those of these names. */
export function omitAttributes(attributes: Attributes, names: ReadonlySet<string>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !names.has(name)));
}

/**
 * Whether the service returns the value that was sent: it may trim a text, or change its line breaks. `undefined`, what it does not
 * return, is no value.
 */
export function isSameValue(sent: unknown, returned: unknown): boolean {
  return comparable(sent) === comparable(returned);
}

function comparable(value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\r\n", "\n").trim() : value;
}

/**
 * The attributes of a file after a response that has some of them, or all. `""` and `false` of an unknown attribute are ignored:
 * a service may return them for an attribute that was never set. A text that the service trimmed keeps the value that was sent.
 */
export function mergeAttributes(kind: FileKind, known: Attributes, returned: Attributes): Attributes {
  const before = new Map<string, unknown>(Object.entries(known));
  const news = Object.entries(returned).filter(([name, value]) =>
    before.has(name) ? !isSameValue(before.get(name), value) : value !== "" && value !== false,
  );
  return pickAttributes(kind, { ...known, ...Object.fromEntries(news) });
}

/** Whether `known` has every value that is in `wanted`. */
export function hasAttributes(kind: FileKind, known: Attributes, wanted: Attributes): boolean {
  for (const name of attributeNames[kind]) if (isOther(name, known, wanted)) return false;
  return true;
}

/** The names in `wanted` whose value is not the same in `known`, in canonical order. */
export function changedAttributes(kind: FileKind, known: Attributes, wanted: Attributes): AttributeName[] {
  return attributeNames[kind].filter((name) => isOther(name, known, wanted));
}

function isOther(name: AttributeName, known: Attributes, wanted: Attributes): boolean {
  return wanted[name] !== undefined && wanted[name] !== known[name];
}
