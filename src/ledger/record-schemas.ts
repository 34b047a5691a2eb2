import { z } from "zod";
import type { ProductRef } from "../model/desired.ts";
import { settlements } from "../model/history.ts";
import type { ApiError, CallFailure } from "../model/outcome.ts";
import { confirmations, type OperationIntent, operationKinds, type Provenance } from "../model/recorded.ts";
import { attributeShape, fileKinds } from "../model/resource.ts";

const text = z.string();
const integer = z.int();
const optionalText = text.exactOptional();
const optionalInteger = integer.exactOptional();

/** How a call can end. */
export const outcomes = ["done", "rejected", "not_sent", "unknown"] as const;

/** {@link Provenance}. */
export const provenanceSchema: z.ZodType<Provenance> = z.strictObject({
  by: z.enum(confirmations),
  at: integer,
});

/** {@link ProductRef}. */
export const productRefSchema: z.ZodType<ProductRef> = z.discriminatedUnion("by", [
  z.strictObject({ by: z.literal("product_id"), productId: integer }),
  z.strictObject({ by: z.literal("draft"), draftId: integer }),
]);

const attributesSchema = z.strictObject(attributeShape);

/** {@link OperationIntent}. Unknown members are kept. */
export const intentSchema: z.ZodType<OperationIntent> = z.looseObject({
  draftId: optionalInteger,
  fileKind: z.enum(fileKinds).exactOptional(),
  fileId: optionalInteger,
  attributes: attributesSchema.exactOptional(),
  revision: optionalInteger,
  productId: optionalInteger,
  name: optionalText,
  uploadKey: optionalText,
  sha256: optionalText,
  refusedWith: optionalInteger,
});

const apiErrorSchema: z.ZodType<ApiError> = z.looseObject({
  status: optionalText,
  code: text.exactOptional(),
  title: optionalText,
  detail: optionalText,
  source: z
    .looseObject({ pointer: optionalText, parameter: optionalText, header: optionalText })
    .exactOptional(),
});

/** {@link CallFailure}. Unknown members are kept. */
export const failureSchema: z.ZodType<CallFailure> = z.looseObject({
  code: text,
  message: text,
  subject: optionalText,
  hint: optionalText,
  status: optionalInteger,
  errors: z.array(apiErrorSchema),
  stops: z.enum(["operation", "draft", "run"]),
});

// Rows have known columns, so z.object, which is faster, reads them; an import adds `.strict()`.

/** {@link RecordedAttachment}. */
export const attachmentSchema = z.object({
  draftId: integer,
  kind: z.enum(fileKinds),
  fileId: integer,
  address: text,
  attributes: attributesSchema,
  sha256: optionalText,
  replaced: z.literal(true).exactOptional(),
  provenance: provenanceSchema,
});

/** {@link RecordedPublication}. */
export const publicationSchema = z.object({
  draftId: integer,
  revision: integer,
  productId: integer,
  provenance: provenanceSchema,
});

/** {@link RecordedDuplicate}. */
export const duplicateSchema = z.object({
  name: text.normalize("NFC"),
  from: productRefSchema,
  sourceProductId: integer,
  productId: integer,
  provenance: provenanceSchema,
});

/** {@link RecordedUpload}. */
export const uploadSchema = z.object({
  uploadId: text,
  uploadKey: optionalText,
  source: optionalText,
  sha256: optionalText,
  size: optionalInteger,
  status: z.enum(["pending", "success", "failed"]),
  fileId: optionalInteger,
  at: integer,
});

/** {@link RecordedObject}. */
export const storedObjectSchema = z.object({
  uploadKey: text,
  source: text,
  sha256: text,
  size: integer,
  at: integer,
});

/** {@link StoredOperation} without `detail`, which is the message of `failure`. */
export const operationSchema = z.object({
  id: text,
  runId: text,
  address: text,
  kind: z.enum(operationKinds),
  method: text,
  path: text,
  intent: intentSchema,
  startedAt: integer,
  finishedAt: optionalInteger,
  status: optionalInteger,
  outcome: z.enum(outcomes).exactOptional(),
  attempts: optionalInteger,
  failure: failureSchema.exactOptional(),
  settled: z.strictObject({ as: z.enum(settlements), at: integer, by: optionalText }).exactOptional(),
});

/** {@link StoredRun}. */
export const runSchema = z.object({
  id: text,
  command: text,
  planId: text,
  startedAt: integer,
  finishedAt: optionalInteger,
  status: optionalText,
  totals: z.json().exactOptional(),
  /** The holder of the lock; absent for runs that `state recover` found in a recovery log. */
  startedBy: z
    .object({
      user: text,
      host: text,
      pid: integer,
      command: text,
      url: optionalText,
      commit: optionalText,
    })
    .exactOptional(),
});
