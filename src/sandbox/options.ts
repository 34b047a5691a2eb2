import { z } from "zod";
import { type Behavior, BehaviorSchema } from "./behavior.ts";
import type { FaultRules } from "./faults/rules.ts";
import type { RequestLogEntry } from "./request-log.ts";
import { SandboxError } from "./sandbox-error.ts";

/** What a sandbox is started with. Only `key` is needed. */
export interface SandboxOptions {
  /** 0 or absent: any free port. The host is always 127.0.0.1. */
  port?: number;
  /** The API key that is accepted. */
  key: string;
  /**
   * So many accounts, each with its own data, its own rate bound and the key `<key>-<number>`, from 1. Absent: one account,
   * whose key is `key`.
   */
  accounts?: number;
  /** SQLite file; object bytes lie beside it in `<db>.objects/`. Absent: both in memory, gone at the end. */
  db?: string;
  /** The drafts that exist. Default `any`: every positive id does. */
  drafts?: number[] | "any";
  /** Files uploaded before this sandbox began. Default `any`: every positive id below 9 000 000 000. */
  files?: number[] | "any";
  /** Products published before this sandbox began. Default `any`: as the reading `unknownProducts` has it. */
  products?: number[] | "any";
  /** At most `limit` arrivals in any window of `windowMs`; one more is answered 429. Absent: no bound. */
  rate?: { limit: number; windowMs: number } | undefined;
  /** NDJSON file that is appended to, or a sink. Absent: nothing is logged. */
  log?: string | ((entry: RequestLogEntry) => void);
  /** The switches that differ from the defaults. */
  behavior?: Partial<Behavior>;
  /** How long an upload is queued and then processed, half and half. Default 50; 0 ends it at once. */
  uploadProcessingMs?: number;
  /** How long storage credentials are good for. Default one hour. */
  credentialsLifetimeMs?: number;
  /** The largest request body of the service, beyond which it answers 413. Default 1 MiB. Storage has its own. */
  maxBodyBytes?: number;
  /** Faults on demand, parsed by `FaultRulesSchema`. Absent: none. */
  faults?: FaultRules;
  /** Epoch milliseconds for expiry and upload processing. Default `Date.now`. */
  now?: () => number;
}

/** Options with every default filled in, frozen. */
export interface Settings {
  readonly port: number;
  readonly key: string;
  readonly accounts: number | undefined;
  readonly drafts: ReadonlySet<number> | "any";
  readonly files: ReadonlySet<number> | "any";
  readonly products: ReadonlySet<number> | "any";
  readonly rate: { readonly limit: number; readonly windowMs: number } | undefined;
  readonly behavior: Behavior;
  readonly uploadProcessingMs: number;
  readonly credentialsLifetimeMs: number;
  readonly maxBodyBytes: number;
  readonly faults: FaultRules | undefined;
  readonly now: () => number;
}

const ids = z
  .union([z.literal("any"), z.array(z.int().positive())], { error: 'must be "any" or a list of ids' })
  .default("any");

const OptionsSchema = z.object({
  port: z.int().min(0).max(65_535).default(0),
  key: z.string().regex(/^[\x21-\x7e]+$/, "must be visible ASCII without spaces"),
  accounts: z.int().min(1).max(1000).optional(),
  drafts: ids,
  files: ids,
  products: ids,
  rate: z.object({ limit: z.int().positive(), windowMs: z.number().positive() }).optional(),
  behavior: BehaviorSchema.prefault({}),
  uploadProcessingMs: z.number().nonnegative().default(50),
  credentialsLifetimeMs: z.number().nonnegative().default(3_600_000),
  maxBodyBytes: z.int().positive().default(1_048_576),
});

/**
 * Checks the options and fills the defaults in.
 *
 * @throws SandboxError `invalid-option`, naming every option that is wrong.
 */
export function compileOptions(options: SandboxOptions): Settings {
  const parsed = OptionsSchema.safeParse(options);
  if (!parsed.success) {
    throw new SandboxError({
      code: "invalid-option",
      message: `The sandbox cannot start: ${parsed.error.issues
        .map((issue) => `${issue.path.join(".")}: ${issue.message}`)
        .join("; ")}`,
      hint: "Correct the named options.",
    });
  }
  const { drafts, files, products, ...rest } = parsed.data;
  return Object.freeze({
    ...rest,
    accounts: rest.accounts,
    rate: rest.rate,
    drafts: asSet(drafts),
    files: asSet(files),
    products:
      products === "any" && rest.behavior.unknownProducts === "missing" ? new Set<number>() : asSet(products),
    faults: options.faults,
    now: options.now ?? Date.now,
  });
}

function asSet(list: number[] | "any"): ReadonlySet<number> | "any" {
  return list === "any" ? "any" : new Set(list);
}
