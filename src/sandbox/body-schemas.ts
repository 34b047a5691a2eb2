import { z } from "zod";
import { ApiError, type Problem } from "./errors.ts";
import type { Behavior } from "./options.ts";
import { isId } from "./requests.ts";

/*
 * The payload tables of the document, as schemas. Attributes and relationships that a table does not list are refused;
 * members elsewhere are ignored, as JSON:API 1.1 ("Document Structure") requires. Numbers are ids: whole, positive and exact
 * in JSON.
 */

const id = z.int().positive();

/** The attributes of a product file. */
export const productFileFields = {
  file_format: z.string().exactOptional(),
  format_version: z.string().exactOptional(),
  renderer: z.string().exactOptional(),
  renderer_version: z.string().exactOptional(),
  is_native: z.boolean().exactOptional(),
};

/** The attributes of a promotional file. */
export const promotionalFileFields = { description: z.string().exactOptional() };

/** `data[type]`: the type of the resource. */
const typed = <const Type extends string>(type: Type) =>
  z.string().refine((value) => value === type, { error: `must be "${type}"` });

/** `data` is required. Without attributes, only a required attribute is missing. */
function required<Type extends string, Attributes extends z.ZodType>(type: Type, attributes: Attributes) {
  const given = z.preprocess((value) => (value === undefined ? {} : value), attributes);
  return z.object({ data: z.object({ type: typed(type), attributes: given }) });
}

/** `data` is optional, and with it the body. */
function optional<Type extends string, Attributes extends z.ZodType>(type: Type, attributes: Attributes) {
  return z
    .object({ data: z.object({ type: typed(type), attributes: attributes.optional() }).optional() })
    .optional();
}

/** `POST /api/drafts/:draft_id/product_files` */
export const ProductFileCreate = required(
  "product_file",
  z.strictObject({ file_id: id, ...productFileFields }),
);
/** `PATCH` and `PUT /api/drafts/:draft_id/product_files/:id` */
export const ProductFileUpdate = optional("product_file", z.strictObject(productFileFields));
/** `POST /api/drafts/:draft_id/promotional_files` */
export const PromotionalFileCreate = required(
  "promotional_file",
  z.strictObject({ file_id: id, ...promotionalFileFields }),
);
/** `PATCH` and `PUT /api/drafts/:draft_id/promotional_files/:id` */
export const PromotionalFileUpdate = optional("promotional_file", z.strictObject(promotionalFileFields));
/** `POST /api/uploads` */
export const UploadCreate = required("upload", z.strictObject({ upload_key: z.string().optional() }));

/**
 * `POST /api/products`. The document lists the members of the relationship as optional, but nothing can be published
 * without a draft; so they are required here.
 */
export const ProductCreate = z.object({
  data: z.object({
    type: typed("product"),
    attributes: z.strictObject({}).optional(),
    relationships: z.strictObject({
      draft: z.object({
        data: z.object({
          type: typed("draft"),
          id: z.string().refine(isId, { error: "must be a draft id: decimal digits in a string" }),
        }),
      }),
    }),
  }),
});

/**
 * Checks a request document against its payload table. Unlisted attributes and relationships are violations or ignored, as
 * the behavior says.
 *
 * @throws ApiError 422 with every violation. A pointer "MUST point to a value in the request document that exists"
 * (JSON:API 1.1, error objects): for a missing value it points to the nearest part that exists.
 */
export function checkDocument<Schema extends z.ZodType>(
  schema: Schema,
  document: unknown,
  { unknownAttributes }: Pick<Behavior, "unknownAttributes">,
): z.output<Schema> {
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  if (unknownAttributes === "ignored" && issues.some(({ code }) => code === "unrecognized_keys")) {
    return checkDocument(schema, withoutUnknown(document, issues), { unknownAttributes: "refused" });
  }
  const [first, ...others] = issues.flatMap((issue) => problemsOf(issue, document));
  if (first === undefined) throw parsed.error;
  throw new ApiError([first, ...others]);
}

/** A copy without the members that the schema does not have. */
function withoutUnknown(document: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy = structuredClone(document);
  for (const issue of issues) {
    if (issue.code !== "unrecognized_keys") continue;
    const part = valueAt(copy, issue.path);
    if (typeof part !== "object" || part === null) continue;
    for (const key of issue.keys) Reflect.deleteProperty(part, key);
  }
  return copy;
}

type Path = readonly PropertyKey[];

function problemsOf(issue: z.core.$ZodIssue, document: unknown): Problem[] {
  const { path } = issue;
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => violation("unknown-field", [...path, key], "is not accepted here"));
  }
  const value = valueAt(document, path);
  if (value === undefined) {
    const parent = existingPart(document, path);
    return [violation("required", path, "is required", parent)];
  }
  if (issue.code === "custom") return [violation("wrong-resource-type", path, issue.message)];
  if (issue.code === "invalid_type" && issue.expected !== "int") {
    const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    return [violation("wrong-type", path, `must be of type ${issue.expected}, not ${type}`)];
  }
  return [violation("not-an-id", path, `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`)];
}

function violation(code: string, path: Path, mistake: string, pointed = path): Problem {
  // The pointer by RFC 6901 §3, the name in the document's own notation: `data[attributes][file_id]`.
  const pointer = pointed.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`);
  const [first, ...others] = path.map(String);
  const name = first === undefined ? "The body" : first + others.map((part) => `[${part}]`).join("");
  return { status: 422, code, detail: `${name} ${mistake}.`, source: { pointer: pointer.join("") } };
}

function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null
        ? Object.getOwnPropertyDescriptor(value, part)?.value
        : undefined,
    document,
  );
}

function existingPart(document: unknown, path: Path): Path {
  const missing = path.findIndex((_, index) => valueAt(document, path.slice(0, index + 1)) === undefined);
  return path.slice(0, Math.max(missing, 0));
}
