import { z } from "zod";
import { lazily } from "../model/lazily.ts";
import type { HeldLock, LockHolder } from "../model/lock.ts";
import type { ApiError, CallFailure } from "../model/outcome.ts";
import type { ProcessIdentity } from "../model/process.ts";
import type { OperationIntent } from "../model/recorded.ts";
import { type Attributes, fileKinds } from "../model/resource.ts";

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
      subject: text,
      hint: text,
      status: number,
      errors: z.array(apiErrorSchema()),
      stops: z.enum(["operation", "draft", "run"]),
    }),
);

/** The column `totals`: whatever a run reported of itself. */
export const totalsSchema = lazily((): z.ZodType<unknown> => z.json());

/** The column `process`. */
export const processSchema = lazily(
  (): z.ZodType<ProcessIdentity> =>
    z.strictObject({
      boot: z.string(),
      namespace: z.string(),
      pid: z.int(),
      startedAt: text,
    }),
);

const holderSchema = lazily(
  (): z.ZodType<LockHolder> =>
    z.object({
      user: z.string(),
      host: z.string(),
      pid: z.int(),
      command: z.string(),
      url: text,
    }),
);

const holderProcessSchema = lazily(() => z.object({ process: processSchema() }));

/** The column `holder`: as much of it as can be read. The lock holds without it, so a damaged one is no error. */
export function parseHolder(json: string): Pick<HeldLock, "holder" | "process"> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return {};
  }
  const holder = holderSchema().safeParse(value);
  const process = holderProcessSchema().safeParse(value);
  return {
    ...(holder.success ? { holder: holder.data } : {}),
    ...(process.success ? { process: process.data.process } : {}),
  };
}
