import { z } from "zod";
import { isSegment, parseId } from "../model/address.ts";
import type { UploadStatus } from "../model/ports.ts";
import type { Attributes, FileKind, FileTarget } from "../model/resource.ts";
import { type AttributeName, attributeNames, attributeShape } from "../model/resource.ts";
import type { ServiceProfile } from "./profile.ts";
import { placeholder } from "./redact.ts";
import { isDocument } from "./response-body.ts";

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

/** The body of an update. Without attributes it is a probe: those that are not named keep their values (JSON:API §Updating). */
export function updateDocument({ kind }: AskedFile, attributes: Attributes, types: Types): unknown {
  return { data: { type: typeOfFile(kind, types), attributes } };
}

/** What a document shows: a value, a value whose resource has no id, another resource than the one asked for, or no document of this interface. */
export type Parsed<T> =
  | { readonly type: "valid"; readonly value: T }
  | { readonly type: "without_id"; readonly value: T | undefined }
  | { readonly type: "another"; readonly problem: string }
  | { readonly type: "malformed"; readonly problem: string };

type Malformed = Extract<Parsed<unknown>, { type: "malformed" }>;

const membersSchema = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/** `id` is a string or a number; a number beyond 2^53 has lost digits and is refused. */
const resourceSchema = z
  .looseObject({
    type: z.string(),
    id: z.union([z.string().min(1), z.int().nonnegative().transform(String)]).nullish(),
    attributes: membersSchema.nullish(),
    relationships: membersSchema.nullish(),
  })
  .transform(({ type, id, attributes, relationships }) => ({
    type,
    ...(id == null ? {} : { id }),
    attributes: attributes ?? {},
    relationships: relationships ?? {},
  }));

/** A resource of the service. Text in it is untrusted. */
export type Resource = Readonly<z.output<typeof resourceSchema>>;

/** A product with everything the service returns; `included` as in JSON:API compound documents. */
export interface ProductDetails extends Resource {
  readonly productId: number;
  readonly included: readonly Resource[];
}

/** Data and errors never come together (JSON:API §Top Level). */
const documentSchema = z.looseObject({ data: resourceSchema, errors: z.never().optional() });
const compoundSchema = z.object({ included: z.array(resourceSchema).nullish() });

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
  const value = parsed.data.data;
  if (value.type !== type)
    return malformed(`its type is ${JSON.stringify(value.type.slice(0, 50))}, not "${type}"`);
  return { type: value.id === undefined ? "without_id" : "valid", value };
}

function malformed(problem: string): Malformed {
  return { type: "malformed", problem };
}

/** The file that a request is about; draft and file are compared where they are given. */
type AskedFile = Pick<FileTarget, "kind"> & Partial<FileTarget>;

/**
 * Reads the resource of a response about one file. Its id is not trusted to be the file id. A value that is `null` is left out,
 * as the service may not return it, or it is empty: `""` for a text, `false` for a boolean.
 */
export function readFile(
  document: unknown,
  target: AskedFile,
  types: Types,
  nullIsEmpty: (name: AttributeName) => boolean = () => false,
): Parsed<Attributes> {
  const reading = readResource(document, typeOfFile(target.kind, types));
  if (reading.type === "malformed") return reading;
  const problem = namesAnother(reading.value, target);
  if (problem !== undefined) return { type: "another", problem };
  const { attributes } = reading.value;
  const known: Record<string, unknown> = {};
  for (const name of attributeNames[target.kind]) {
    const value = attributes[name];
    const read = value === null && nullIsEmpty(name) ? emptyValue(name) : readValue(name, value);
    if (read !== undefined) known[name] = read;
  }
  return { type: reading.type, value: known };
}

/** {@link readFile} of a response to a probe. */
export function readProbedFile(document: unknown, target: AskedFile, types: Types): Parsed<Attributes> {
  return readFile(document, target, types, () => true);
}

function emptyValue(name: AttributeName): string | boolean {
  return attributeShape[name].safeParse("").success ? "" : false;
}

/**
 * The interface does not show the types of a response: a service may return "true" or 1. A number for a text says nothing: 7.2 may
 * be "7.2" or "7.20". Neither does a text that the key was taken out of: it would be recorded, and sent again.
 */
function readValue(name: AttributeName, value: unknown): string | boolean | undefined {
  if (typeof value === "string" && value.includes(placeholder)) return undefined;
  const shape = attributeShape[name];
  return shape.safeParse(value).data ?? shape.safeParse(spelled.get(value)).data;
}

const spelled: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ["true", true],
  [1, true],
  ["false", false],
  [0, false],
]);

const detachedSchema = z
  .looseObject({ data: z.unknown().optional(), errors: z.never().optional() })
  .refine(isDocument);

/** Reads the response to a DELETE: a document without errors (JSON:API §Deleting). A gateway's object is none. */
export function readDetached(document: unknown, target: FileTarget, types: Types): Parsed<undefined> {
  const parsed = detachedSchema.safeParse(document);
  if (!parsed.success) return malformed("it is no document, or one of errors");
  if (parsed.data.data == null) return { type: "valid", value: undefined };
  const reading = readFile(document, target, types);
  return "problem" in reading ? reading : { type: "valid", value: undefined };
}

/** An id as text; an invalid number, such as one beyond 2^53, still names a different resource. */
const namedIdSchema = z.union([z.string(), z.number().transform(String)]).catch("");
const linkedIdSchema = z.object({ id: namedIdSchema }).transform(({ id }) => id);
const linkedIdsSchema = z
  .array(linkedIdSchema)
  .min(1)
  .transform((ids) => ids.join(", "));
const draftLinkSchema = z
  .object({
    // Several drafts are never the one asked for.
    draft: z.object({ data: z.union([linkedIdSchema, linkedIdsSchema]) }),
  })
  .transform(({ draft }) => draft.data)
  .catch("");

/** The id of the draft that a resource names; empty when it names none. */
export function draftNamedBy({ relationships }: Pick<Resource, "relationships">): string {
  return draftLinkSchema.parse(relationships);
}

/**
 * Describes the other draft or file that a resource names, by its draft relationship or `file_id`; a resource that names
 * none is the one asked for. `data.id` is never compared.
 */
function namesAnother(resource: Resource, { draftId, fileId }: Partial<FileTarget>): string | undefined {
  const names = [
    { what: "draft", named: draftNamedBy(resource), asked: draftId },
    { what: "file", named: namedIdSchema.parse(resource.attributes.file_id), asked: fileId },
  ];
  return names
    .filter(({ named, asked }) => named !== "" && asked !== undefined && named !== String(asked))
    .map(({ what, named, asked }) => `it names ${what} ${named.slice(0, 50)}, not ${asked}`)[0];
}

/**
 * Reads a product and what was included with it. One with another id than `productId`, or that names another draft than
 * `draftId`, is a mismatch.
 */
export function readProduct(
  document: unknown,
  types: Types,
  asked: { readonly productId?: number; readonly draftId?: number | undefined },
): Parsed<ProductDetails> {
  const reading = readResource(document, types.product);
  if (reading.type === "malformed") return reading;
  const included = compoundSchema.safeParse(document);
  if (!included.success) return malformed("`included` is not a list of resources");
  const { id } = reading.value;
  if (id === undefined) return { type: "without_id", value: undefined };
  const productId = parseId(id);
  if (productId === undefined) return malformed("its id is not a whole number up to 2^53");
  if (productId !== (asked.productId ?? productId))
    return { type: "another", problem: `it is product ${productId}, not ${asked.productId}` };
  const problem =
    asked.draftId === undefined ? undefined : namesAnother(reading.value, { draftId: asked.draftId });
  if (problem !== undefined) return { type: "another", problem };
  return {
    type: "valid",
    value: { ...reading.value, productId, included: included.data.included ?? [] },
  };
}

const listSchema = z.object({ data: z.array(z.unknown()), errors: z.never().optional() });

/** Text that becomes part of a path, an object's key or a ledger record. */
const usable = /^[^\p{Cc}\p{Cs}]{0,500}$/u;

/** A serializer may write 0 or "" for what is not there yet. */
function emptyIsNone<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === 0 || value === "" ? null : value), schema);
}

const uploadAttributesSchema = z.looseObject({
  status: z.string().nullish(),
  upload_key: z.string().nullish(),
  message: z.string().nullish(),
  file_id: emptyIsNone(
    z
      .union([
        z.int().positive(),
        z
          .string()
          .transform((text) => parseId(text) ?? Number.NaN)
          .pipe(z.int()),
      ])
      .nullish(),
  ),
});

/**
 * Reads one upload. A status that is missing is pending: it says nothing about failure. An upload that names another id or key
 * than the request was about is a mismatch: its file would be sold in another draft.
 */
export function readUpload(
  document: unknown,
  types: Types,
  asked: Partial<Pick<UploadStatus, "uploadId" | "uploadKey">> = {},
): Parsed<UploadStatus> {
  const reading = readResource(document, types.upload);
  if (reading.type === "malformed") return reading;
  const { id: uploadId } = reading.value;
  if (uploadId === undefined) return { type: "without_id", value: undefined };
  if (!usable.test(uploadId)) return malformed("its id is too long, or holds control characters");
  if (!isSegment(uploadId)) return malformed("its id cannot be a part of a path");
  const attributes = uploadAttributesSchema.safeParse(reading.value.attributes);
  if (!attributes.success)
    return malformed("`status`, `message`, `file_id` or `upload_key` of the upload has the wrong type");
  const { status, message, file_id: fileId, upload_key: uploadKey } = attributes.data;
  if (asked.uploadId !== undefined && uploadId !== asked.uploadId)
    return { type: "another", problem: `it names upload ${uploadId.slice(0, 50)}, not ${asked.uploadId}` };
  if (asked.uploadKey !== undefined && uploadKey && uploadKey !== asked.uploadKey) {
    const problem = `it names the object ${uploadKey.slice(0, 100)}, not ${asked.uploadKey}`;
    return { type: "another", problem };
  }
  const value: UploadStatus = {
    uploadId,
    status: statusOf(status ?? "queued", fileId),
    rawStatus: status ?? "",
    ...(uploadKey ? { uploadKey } : {}),
    ...(message == null ? {} : { message }),
    ...(fileId == null ? {} : { fileId }),
  };
  return { type: "valid", value };
}

/** `success` counts only with the file id that comes with it. */
function statusOf(status: string, fileId: number | null | undefined): UploadStatus["status"] {
  if (status === "queued" || status === "processing") return "pending";
  if (status !== "success") return "failed";
  return fileId == null ? "pending" : "success";
}

/** Reads a list of uploads. It may lack some that were asked for; that says nothing about them. */
export function readUploads(document: unknown, types: Types): Parsed<readonly UploadStatus[]> {
  const list = listSchema.safeParse(document);
  if (!list.success) return malformed("`data` is not a list");
  const uploads: UploadStatus[] = [];
  for (const data of list.data.data) {
    const reading = readUpload({ data }, types);
    if (reading.type !== "valid")
      return malformed("problem" in reading ? reading.problem : "an upload has no id");
    const { uploadId, fileId } = reading.value;
    const other = uploads.find((each) => each.uploadId === uploadId);
    if (other !== undefined && other.fileId !== fileId)
      return malformed(`it has upload ${uploadId.slice(0, 50)} twice, as two files`);
    uploads.push(reading.value);
  }
  return { type: "valid", value: uploads };
}

/** How many resources a document lists; `undefined` when it is no list. */
export function countListed(document: unknown): number | undefined {
  return listSchema.safeParse(document).data?.data.length;
}

const credentialsSchema = z
  .looseObject({
    key_prefix: z.string().regex(usable).nullish(),
    bucket: z.string().min(1),
    region: emptyIsNone(z.string().nullish()),
    access_key: z.string().min(1),
    secret_key: z.string().min(1),
    session_token: z.string().nullish(),
    expiration: emptyIsNone(z.iso.datetime({ offset: true }).nullish()),
    endpoint: emptyIsNone(z.url({ protocol: /^https?$/ }).nullish()),
  })
  .transform((attributes) => ({
    keyPrefix: attributes.key_prefix ?? "",
    bucket: attributes.bucket,
    region: attributes.region ?? "us-east-1",
    accessKey: attributes.access_key,
    secretKey: attributes.secret_key,
    ...(attributes.session_token == null ? {} : { sessionToken: attributes.session_token }),
    ...(attributes.expiration == null ? {} : { expiresAt: Date.parse(attributes.expiration) }),
    ...(attributes.endpoint == null ? {} : { endpoint: attributes.endpoint }),
  }));

/**
 * Credentials for putting bytes into object storage. Everything but bucket, region and endpoint is secret. `expiresAt`, in epoch
 * milliseconds, is absent when they do not expire; `endpoint` when the storage is Amazon's own.
 */
export type UploadCredentials = Readonly<z.output<typeof credentialsSchema>>;

/** Reads upload credentials. A problem names the members that are wrong, never their values. */
export function readCredentials(document: unknown, types: Types): Parsed<UploadCredentials> {
  const reading = readResource(document, types.upload_credential);
  if (reading.type === "malformed") return reading;
  const parsed = credentialsSchema.safeParse(reading.value.attributes);
  if (parsed.success) return { type: "valid", value: parsed.data };
  const names = [...new Set(parsed.error.issues.map((issue) => issue.path.join(".")))];
  return malformed(`missing or not valid in the credentials: ${names.join(", ")}`);
}
