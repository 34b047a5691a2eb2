import { z } from "zod";
import { lazily } from "../model/lazily.ts";
import type { HeldLock, LockHolder } from "../model/lock.ts";
import type { ProcessIdentity } from "../model/process.ts";

const text = z.string().exactOptional();

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
