import { z } from "zod";
import { messageOf } from "../model/errors.ts";
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
      commit: text,
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

/** A kind of JSON document that carries its version. */
interface DocumentKind {
  readonly version: number;
  /** For messages: "an export of a ledger". */
  readonly title: string;
  /** What to do with a document of a different version. */
  readonly otherVersion: string;
  readonly invalid: (message: string, hint?: string) => Error;
}

/** The members of a JSON document but its version. Throws `kind.invalid`; `name` is how messages call the text. */
export function parseDocument(text: string, name: string, kind: DocumentKind): Record<string, unknown> {
  const found = versionedSchema().safeParse(parseJson(text, name, kind));
  if (!found.success) throw kind.invalid(`${name} is not ${kind.title}.`);
  const { format_version: version, ...members } = found.data;
  if (version === kind.version) return members;
  throw kind.invalid(
    `${name} has format version ${version}; this draftsync reads version ${kind.version}.`,
    kind.otherVersion,
  );
}

/** Where a document of the right version is damaged; `rename` gives a member the name that the document has for it. */
export function describeDamage(
  name: string,
  { issues: [issue] }: z.ZodError,
  rename: (member: string) => string = (member) => member,
): string {
  const path = issue?.path.map((step) => rename(String(step))).join(".");
  return `${name} is damaged at ${path}: ${issue?.message}.`;
}

const versionedSchema = lazily(() => z.looseObject({ format_version: z.int() }));

function parseJson(text: string, name: string, { invalid }: DocumentKind): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`${name} is not JSON (${messageOf(error)}).`);
  }
}
