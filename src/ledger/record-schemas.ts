import { z } from "zod";
import type { ProductRef } from "../model/desired.ts";
import { lazily } from "../model/lazily.ts";
import { confirmations, type Provenance, type RecordedAttachment } from "../model/recorded.ts";
import { fileKinds } from "../model/resource.ts";
import { attributesSchema } from "./stored-json.ts";

/** {@link Provenance} as JSON. */
export const provenanceSchema = lazily(
  (): z.ZodType<Provenance> =>
    z.strictObject({
      // Exports of unreleased builds have "person".
      by: z.preprocess((by) => (by === "person" ? "operator" : by), z.enum(confirmations)),
      at: z.int(),
    }),
);

/** {@link ProductRef} as JSON. */
export const productRefSchema = lazily(
  (): z.ZodType<ProductRef> =>
    z.discriminatedUnion("by", [
      z.strictObject({ by: z.literal("product_id"), productId: z.int() }),
      z.strictObject({ by: z.literal("draft"), draftId: z.int() }),
    ]),
);

/** {@link RecordedAttachment} as JSON. */
export const attachmentSchema = lazily(
  (): z.ZodType<RecordedAttachment> =>
    z.strictObject({
      draftId: z.int(),
      kind: z.enum(fileKinds),
      fileId: z.int(),
      address: z.string(),
      attributes: attributesSchema(),
      sha256: z.string().exactOptional(),
      replaced: z.literal(true).exactOptional(),
      provenance: provenanceSchema(),
    }),
);
