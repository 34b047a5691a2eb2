import { z } from "zod";
import { lazily } from "../model/lazily.ts";
import type { LockHolder } from "../model/lock.ts";
import type { ApiError, CallFailure } from "../model/outcome.ts";
import type { OperationIntent } from "../model/recorded.ts";
import { type Attributes, fileKinds } from "../model/resource.ts";
import type { SlotProcess } from "../model/slots.ts";

const text = z.string().exactOptional();
const number = z.number().exactOptional();

// Each is made when the first row needs it: a plan without changes reads few of them.

/** The column `attributes`. */
export const attributesSchema = lazily(
  (): z.ZodType<Attributes> =>
    z.strictObject({
      file_format: text,
      format_version: text,
      renderer: text,
      renderer_version: text,
      is_native: z.boolean().exactOptional(),
      description: text,
    }),
);

/** The column `intent`. Members that it does not name are kept. */
export const intentSchema = lazily(
  (): z.ZodType<OperationIntent> =>
    z.looseObject({
      draftId: number,
      fileKind: z.enum(fileKinds).exactOptional(),
      fileId: number,
      attributes: attributesSchema().exactOptional(),
      revision: number,
      productId: number,
      name: text,
      uploadKey: text,
      sha256: text,
    }),
);

const apiErrorSchema = lazily(
  (): z.ZodType<ApiError> =>
    z.looseObject({
      status: text,
      code: text,
      title: text,
      detail: text,
      source: z.looseObject({ pointer: text, parameter: text, header: text }).exactOptional(),
    }),
);

/** The column `failure`. Members that it does not name are kept. */
export const failureSchema = lazily(
  (): z.ZodType<CallFailure> =>
    z.looseObject({
      code: z.string(),
      message: z.string(),
      hint: text,
      status: number,
      errors: z.array(apiErrorSchema()),
      stops: z.enum(["operation", "draft", "run"]),
    }),
);

/** The column `totals`: whatever a run reported of itself. */
export const totalsSchema = lazily((): z.ZodType<unknown> => z.json());

/** The column `holder`. Members that it does not name are kept. */
export const holderSchema = lazily(
  (): z.ZodType<LockHolder> =>
    z.looseObject({
      user: z.string(),
      host: z.string(),
      pid: z.int(),
      command: z.string(),
      url: text,
    }),
);

/** The column `process`. */
export const slotProcessSchema = lazily(
  (): z.ZodType<SlotProcess> =>
    z.looseObject({
      space: z.string(),
      pid: z.int(),
      startedAt: text,
    }),
);
