import { z } from "zod";
import { parseId } from "../model/address.ts";
import type { Attributes, FileKind, FileTarget } from "../model/resource.ts";
import { attributeNames, attributeShape } from "../model/resource.ts";
import type { ServiceProfile } from "./profile.ts";

type Types = ServiceProfile["types"];

/** The name of the setting for `data.type` of a collection's files. */
export const fileTypeNames = {
  product_files: "product_file",
  promotional_files: "promotional_file",
} as const;

/** `data.type` of a file of a collection. */
export function typeOfFile(kind: FileKind, types: Types): string {
  return types[fileTypeNames[kind]];
}

/** The body of POST /api/drafts/:draft_id/{product,promotional}_files. The attributes are sent as they are. */
export function attachDocument(target: FileTarget, attributes: Attributes, types: Types): unknown {
  return {
    data: { type: typeOfFile(target.kind, types), attributes: { file_id: target.fileId, ...attributes } },
  };
}

/**
 * The body of an update; the attributes are sent as they are. Without any it is a probe: what is not named keeps its value
 * (JSON:API §Updating).
 */
export function updateDocument(target: FileTarget, attributes: Attributes, types: Types): unknown {
  return { data: { type: typeOfFile(target.kind, types), attributes } };
}

/** The body of POST /api/products. Ids are strings in documents (JSON:API §Identification). */
export function publishDocument(draftId: number, types: Types): unknown {
  const draft = { data: { type: types.draft, id: String(draftId) } };
  return { data: { type: types.product, relationships: { draft } } };
}

/** What a document says: a value, a value whose resource has no id, one that names another resource, or nothing of this interface. */
export type Parsed<T> =
  | { readonly type: "valid"; readonly value: T }
  | { readonly type: "without_id"; readonly value: T | undefined }
  | { readonly type: "another"; readonly problem: string }
  | { readonly type: "malformed"; readonly problem: string };

/** Any attributes: each reader checks those it needs. */
const membersSchema = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/** A resource as it came. `id` is a string or a number; a number beyond 2^53 has lost digits and is refused. */
const resourceSchema = z.looseObject({
  type: z.string(),
  id: z.union([z.string().min(1), z.int().nonnegative().transform(String)]).nullish(),
  attributes: membersSchema.nullish(),
  relationships: membersSchema.nullish(),
});

/** Data and errors never come together (JSON:API §Top Level). */
const documentSchema = z.looseObject({ data: resourceSchema, errors: z.never().optional() });
const compoundSchema = z.object({ included: z.array(resourceSchema).nullish() });

/** A resource of the service. Text in it is untrusted. */
export interface Resource {
  readonly type: string;
  readonly id?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: Readonly<Record<string, unknown>>;
}

/** A product with everything the service returns; `included` as in JSON:API compound documents. */
export interface ProductDetails extends Resource {
  readonly productId: number;
  readonly included: readonly Resource[];
}

/** Reads the resource of an answer to a call about one file. Its id is not trusted to be the file id. */
export function readFile(document: unknown, target: FileTarget, types: Types): Parsed<Attributes> {
  return readAttributes(document, { target, types, whenNull: undefined });
}

/** {@link readFile} of a response to a probe. A text that is `null` is returned as `""`. */
export function readProbedFile(document: unknown, target: AskedFile, types: Types): Parsed<Attributes> {
  return readAttributes(document, { target, types, whenNull: "" });
}

/** The file that a request is about; draft and file are compared where they are given. */
type AskedFile = Pick<FileTarget, "kind"> & Partial<FileTarget>;

interface FileReading {
  readonly target: AskedFile;
  readonly types: Types;
  /** The value returned for a text that is `null`; `undefined`: it is left out. */
  readonly whenNull: string | undefined;
}

function readAttributes(document: unknown, { target, types, whenNull }: FileReading): Parsed<Attributes> {
  const { kind } = target;
  const reading = readResource(document, typeOfFile(kind, types));
  if (reading.type === "malformed") return reading;
  const problem = namesAnother(reading.value, target);
  if (problem !== undefined) return { type: "another", problem };
  const { attributes } = reading.value;
  const known: Record<string, unknown> = {};
  for (const name of attributeNames[kind]) {
    const value = attributes[name] === null ? whenNull : attributes[name];
    if (value !== undefined && attributeShape[name].safeParse(value).success) known[name] = value;
  }
  return { type: reading.type, value: known };
}

function isOther(named: string, asked: number | undefined): boolean {
  return named !== "" && asked !== undefined && named !== String(asked);
}

const detachedSchema = z.looseObject({ data: z.unknown().optional(), errors: z.never().optional() });

/** Reads the answer to a detachment, which need not say more than that it is none of an error (JSON:API §Deleting). */
export function readDetached(document: unknown, target: FileTarget, types: Types): Parsed<undefined> {
  const parsed = detachedSchema.safeParse(document);
  if (!parsed.success) return malformed("it is no document, or one of errors");
  if (parsed.data.data == null) return { type: "valid", value: undefined };
  const reading = readResource(document, typeOfFile(target.kind, types));
  if (reading.type === "malformed") return reading;
  const problem = namesAnother(reading.value, target);
  return problem === undefined ? { type: "valid", value: undefined } : { type: "another", problem };
}

/**
 * Reads a new product, from `draftId` if it was published. The call was made to get its id, so an invalid id is malformed.
 */
export function readNewProduct(
  document: unknown,
  types: Types,
  draftId?: number,
): Parsed<{ readonly productId: number }> {
  const reading = readProduct(document, types, { draftId });
  if (reading.type !== "valid") return reading;
  return { type: "valid", value: { productId: reading.value.productId } };
}

/** An id as text; an invalid number, such as one beyond 2^53, still names a different resource. */
const namedIdSchema = z.union([z.string(), z.number().transform(String)]).catch("");
const linkedIdSchema = z.object({ id: namedIdSchema }).transform(({ id }) => id);
const draftLinkSchema = z
  .object({
    draft: z.object({ data: z.union([linkedIdSchema, z.tuple([linkedIdSchema]).transform(([id]) => id)]) }),
  })
  .transform(({ draft }) => draft.data)
  .catch("");

/** The id of the draft that a resource names; empty when it names none. */
export function draftNamedBy({ relationships }: Pick<Resource, "relationships">): string {
  return draftLinkSchema.parse(relationships);
}

/**
 * Says so when a resource names another draft or file than the request was about, by its draft relationship or
 * `file_id`; a resource that names none is about what was asked for. `data.id` is never compared.
 */
function namesAnother(
  { attributes, relationships }: Resource,
  { draftId, fileId }: Partial<FileTarget>,
): string | undefined {
  const draft = draftNamedBy({ relationships });
  if (isOther(draft, draftId)) return `it names draft ${draft.slice(0, 50)}, not ${draftId}`;
  const file = namedIdSchema.parse(attributes.file_id);
  return isOther(file, fileId) ? `it names file ${file.slice(0, 50)}, not ${fileId}` : undefined;
}

/**
 * Reads a product and what was included with it. One with another id than `productId`, or that names another draft than `draftId`,
 * is a mismatch.
 */
export function readProduct(
  document: unknown,
  types: Types,
  asked: { readonly productId?: number; readonly draftId?: number | undefined } = {},
): Parsed<ProductDetails> {
  const reading = readResource(document, types.product);
  if (reading.type === "malformed") return reading;
  const included = compoundSchema.safeParse(document);
  if (!included.success) return malformed("`included` is not a list of resources");
  const { id } = reading.value;
  if (reading.type === "without_id" || id === undefined) return { type: "without_id", value: undefined };
  const productId = parseId(id);
  if (productId === undefined) return malformed("its id is not a whole number up to 2^53");
  if (productId !== (asked.productId ?? productId))
    return { type: "another", problem: `it is product ${productId}, not ${asked.productId}` };
  const { draftId } = asked;
  const problem = draftId === undefined ? undefined : namesAnother(reading.value, { draftId });
  if (problem !== undefined) return { type: "another", problem };
  const value = { ...reading.value, productId, included: (included.data.included ?? []).map(toResource) };
  return { type: "valid", value };
}

type Malformed = Extract<Parsed<unknown>, { type: "malformed" }>;

/** Reads the one resource of a document, which must be of that type. */
export function readResource(
  document: unknown,
  type: string,
): Malformed | { readonly type: "valid" | "without_id"; readonly value: Resource } {
  const parsed = documentSchema.safeParse(document);
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path ?? [];
    return malformed(
      path[0] === "errors"
        ? "it has both data and errors"
        : `\`${path.join(".") || "body"}\` is missing or not of its type`,
    );
  }
  const value = toResource(parsed.data.data);
  if (value.type !== type)
    return malformed(`its type is ${JSON.stringify(value.type.slice(0, 50))}, not "${type}"`);
  return { type: value.id === undefined ? "without_id" : "valid", value };
}

function toResource(data: z.output<typeof resourceSchema>): Resource {
  return {
    type: data.type,
    ...(data.id === null || data.id === undefined ? {} : { id: data.id }),
    attributes: data.attributes ?? {},
    relationships: data.relationships ?? {},
  };
}

/** A document that is not what was asked for. */
export function malformed(problem: string): Malformed {
  return { type: "malformed", problem };
}
