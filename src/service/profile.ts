import { z } from "zod";
import { durationSchema, positiveDurationSchema } from "../model/time.ts";

const typesSchema = z
  .strictObject({
    product_file: z.string().min(1).default("product_file").describe("`data.type` of a product file"),
    promotional_file: z
      .string()
      .min(1)
      .default("promotional_file")
      .describe("`data.type` of a promotional file"),
    upload: z.string().min(1).default("upload").describe("`data.type` of an upload"),
    upload_credential: z
      .string()
      .min(1)
      .default("upload_credential")
      .describe("`data.type` in the response to POST /api/uploads/credentials"),
    product: z.string().min(1).default("product").describe("`data.type` of a product"),
    draft: z.string().min(1).default("draft").describe("`type` in the draft relationship of a publication"),
  })
  .prefault({})
  .describe("Names of the resource types");

const storageSchema = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https?$/, error: "must be an http or https URL" })
      .optional()
      .describe("Object storage to use instead of the one in the upload credentials"),
    hosts: z
      .array(z.string().regex(/^[a-z0-9.-]+(:\d+)?$/, "must be a host name, with a port if it needs one"))
      .default([])
      .describe(
        "Additional hosts that upload credentials may use, besides AWS and the service's own: host names, with an optional port",
      ),
    force_path_style: z
      .boolean()
      .optional()
      .describe("Put the bucket into the path instead of the host name (default: true if `endpoint` is set)"),
  })
  .prefault({})
  .describe("Object storage for uploads");

/**
 * `service.profile`: what the interface leaves open and a service may settle differently. Durations are strings such as
 * `30s` on the outside and milliseconds once parsed.
 */
export const serviceProfileSchema = z.strictObject({
  types: typesSchema,
  content_type: z
    .string()
    .regex(/^[\x21-\x7e]+(?:; ?[\x21-\x7e]+)*$/, "must be a media type")
    .default("application/vnd.api+json")
    .describe("Content-Type of requests with a body: a media type"),
  update_method: z
    .enum(["PATCH", "PUT"])
    .default("PATCH")
    .describe("Method of updates; both behave the same"),
  storage: storageSchema,
  uploads_query: z
    .string()
    .min(1)
    .nullable()
    .default("filter[id]")
    .describe(
      "Query parameter for upload ids in GET /api/uploads. With `null`, each upload is read by its own GET",
    ),
  uploads_page: z
    .int()
    .min(1)
    .max(1000)
    .default(50)
    .describe("Maximum number of upload ids in one GET /api/uploads"),
  product_include: z
    .array(z.string().regex(/^[^,\s]+$/, "must be one relation name"))
    .default([])
    .describe("Relations to include when a product is read"),
  settle_delay: durationSchema
    .prefault("30s")
    .describe("How long a call may still take effect after its response was lost"),
  max_wait: positiveDurationSchema
    .prefault("5m")
    .describe(
      "How long a run waits for a service that asks for fewer calls (Retry-After), or refuses every call. Beyond that, it stops",
    ),
  upload_deadline: positiveDurationSchema
    .prefault("30m")
    .describe(
      "How long the service may take to process an upload, from its registration. Each run reads it at least once",
    ),
  upload_poll_min: positiveDurationSchema
    .prefault("500ms")
    .describe("First interval between two reads of an upload"),
  upload_poll_max: positiveDurationSchema
    .prefault("5s")
    .describe("Longest interval between two reads of an upload. The interval doubles up to this"),
});

/** The parsed settings; durations in milliseconds. */
export type ServiceProfile = z.output<typeof serviceProfileSchema>;
