import { z } from "zod";
import { lazily } from "../model/lazily.ts";
import type { HeldLock, LockHolder } from "../model/lock.ts";
import type { ProcessIdentity } from "../model/process.ts";
import type { RateBound } from "../model/rate.ts";

/** Who reserved a call, and by which settings. Times in milliseconds. */
export interface Reserver {
  readonly process: ProcessIdentity;
  readonly bound: RateBound;
  readonly callMs: number;
  readonly settleMs: number;
}

const text = z.string().exactOptional();

const processSchema = lazily(
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

const reserverSchema = lazily(
  (): z.ZodType<Reserver> =>
    z.object({
      process: processSchema(),
      bound: z.object({ limit: z.int(), windowMs: z.int() }),
      callMs: z.int(),
      settleMs: z.int(),
    }),
);

/** The column `reserver`; `undefined` when it cannot be read. */
export function parseReserver(json: string): Reserver | undefined {
  try {
    return reserverSchema().safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

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
