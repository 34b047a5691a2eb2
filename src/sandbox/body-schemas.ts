import { z } from "zod";

/*
 * The payload tables of the document, as schemas. What a table does not list among the attributes or relationships is
 * refused; members elsewhere are ignored, as JSON:API 1.1 ("Document Structure") has it. Numbers are ids:
 * whole, positive and exact in JSON.
 */

const id = z.int().positive();

/** The attributes of a product file. */
export const productFileFields = {
  file_format: z.string().optional(),
  format_version: z.string().optional(),
  renderer: z.string().optional(),
  renderer_version: z.string().optional(),
  is_native: z.boolean().optional(),
};

/** The attributes of a promotional file. */
export const promotionalFileFields = { description: z.string().optional() };

/** `data[type]`: a string, and the one that belongs to the resource. */
const typed = <const Type extends string>(type: Type) =>
  z.string().refine((value) => value === type, { error: `must be "${type}"` });

/** `data` required. Attributes that are left out are read as none: refused only where one of them is required. */
function required<Type extends string, Attributes extends z.ZodType>(type: Type, attributes: Attributes) {
  const given = z.preprocess((value) => (value === undefined ? {} : value), attributes);
  return z.object({ data: z.object({ type: typed(type), attributes: given }) });
}

/** `data` optional, and with it the body. */
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

const isDraftId = (text: string) => /^[1-9]\d*$/.test(text) && Number.isSafeInteger(Number(text));

/**
 * `POST /api/products`. The document lists the members of the relationship as optional, but nothing can be published
 * without a draft; so each of them is required here.
 */
export const ProductCreate = z.object({
  data: z.object({
    type: typed("product"),
    attributes: z.strictObject({}).optional(),
    relationships: z.strictObject({
      draft: z.object({
        data: z.object({
          type: typed("draft"),
          id: z.string().refine(isDraftId, { error: "must be a draft id: decimal digits in a string" }),
        }),
      }),
    }),
  }),
});
