import { z } from "zod";
import { SandboxError } from "./errors.ts";
import type { FaultRules } from "./faults/rules.ts";
import type { RequestLogEntry } from "./request-log.ts";

/** One of several status codes, also as text from a command line. */
const statusOf = <const Codes extends readonly [number, ...number[]]>(codes: Codes, usual: Codes[number]) =>
  z
    .preprocess(
      (value) => (typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value),
      z.literal(codes),
    )
    .default(usual);

/**
 * How the sandbox behaves where the interface document leaves it open. The settings are independent, and the client's
 * defaults fit these defaults. Parses `--behavior name=value` pairs (`{ updateStatus: "204" }`); an unknown name is an error.
 */
export const BehaviorSchema = z.strictObject({
  /** `file`: `data.id` of an attachment is its file id. `other`: an id of its own; paths still take the file id. */
  dataId: z.enum(["file", "other"]).default("file"),
  /** Response to attaching a file; 204 has no body. */
  createStatus: statusOf([200, 201, 202, 204], 201),
  /** Response to PATCH and PUT; 204 has no body. */
  updateStatus: statusOf([200, 202, 204], 200),
  /** Response to DELETE; 200 and 202 have `{"meta":{}}`. */
  deleteStatus: statusOf([200, 202, 204], 204),
  /** Response to creating an upload and to credentials; 204 has no body. */
  uploadStatus: statusOf([200, 201, 202, 204], 201),
  /** Response to publishing and duplicating; 204 has no body. */
  productStatus: statusOf([200, 201, 202, 204], 201),
  /**
   * An update without attributes: `allowed` changes nothing and returns the resource, `rejected` is a 422, `clears` removes
   * all attributes and returns the rest.
   */
  probe: z.enum(["allowed", "rejected", "clears"]).default("allowed"),
  /** PUT: `same` as PATCH; `replaces` all attributes, so those that it does not name are removed; `refused` is a 405. */
  put: z.enum(["same", "replaces", "refused"]).default("same"),
  /** Attaching an attached file: 409, 422, or a second success that sets the named attributes. */
  doubleAttach: z.enum(["conflict", "invalid", "accepted"]).default("conflict"),
  /** JSON:API error objects, or RFC 9457 `application/problem+json`. */
  errors: z.enum(["jsonapi", "problem"]).default("jsonapi"),
  /**
   * `jsonapi`: bodies have the media type of JSON:API, parameters are ignored. `strict`: parameters on `Content-Type` are a
   * 415, parameters beyond the version (and `q`) on `Accept` a 406. `lenient`: `application/json` is accepted, too.
   */
  mediaTypes: z.enum(["jsonapi", "strict", "lenient"]).default("jsonapi"),
  /** Attributes and relationships that the document does not list: 422, or no effect. */
  unknownAttributes: z.enum(["refused", "ignored"]).default("refused"),
  /** The relationships of a returned product, which JSON:API makes optional. */
  relationships: z.enum(["present", "omitted"]).default("present"),
  /** Ids of products that this sandbox did not create: products that existed before it, or 404. */
  unknownProducts: z.enum(["found", "missing"]).default("found"),
  /** The query parameter of `GET /api/uploads` with the ids. */
  uploadsQuery: z.string().min(1).default("filter[id]"),
});

/** The behavior with all defaults. */
export type Behavior = z.infer<typeof BehaviorSchema>;

const ids = z
  .union([z.literal("any"), z.array(z.int().positive())], { error: 'must be "any" or a list of ids' })
  .default("any")
  .transform((list): ReadonlySet<number> | "any" => (list === "any" ? "any" : new Set(list)));

const isFunction = (value: unknown) => typeof value === "function";

const OptionsSchema = z.object({
  /** 0 or absent: any free port. The host is always 127.0.0.1. */
  port: z.int().min(0).max(65_535).default(0),
  /** The API key that is accepted. */
  key: z.string().regex(/^[\x21-\x7e]+$/, "must be visible ASCII without spaces"),
  /**
   * Number of accounts, each with its own data, its own rate limit and the key `<key>-<number>`, from 1. Absent: one account,
   * whose key is `key`.
   */
  accounts: z.int().min(1).max(1000).optional(),
  /** SQLite file; the bytes of objects are next to it in `<db>.objects/`. Absent: both in memory. */
  db: z.string().optional(),
  /** The drafts that exist. Default `any`: every positive id. */
  drafts: ids,
  /** Files uploaded before this sandbox started. Default `any`: every positive id below 9 000 000 000. */
  files: ids,
  /** Products published before this sandbox started. Default `any`: as `behavior.unknownProducts` sets it. */
  products: ids,
  /** At most `limit` requests in any window of `windowMs`; one more gets 429. Absent: unlimited. */
  rate: z.object({ limit: z.int().positive(), windowMs: z.number().positive() }).readonly().optional(),
  /** NDJSON file to append to, or a function. Absent: nothing is logged. */
  log: z.union([z.string(), z.custom<(entry: RequestLogEntry) => void>(isFunction)]).optional(),
  /** The settings that differ from the defaults. */
  behavior: BehaviorSchema.prefault({}),
  /** How long an upload is queued and then processed, half of it each. Default 50; 0: it succeeds immediately. */
  uploadProcessingMs: z.number().nonnegative().default(50),
  /** How long storage credentials are valid. Default one hour. */
  credentialsLifetimeMs: z.number().nonnegative().default(3_600_000),
  /** The largest request body of the service, beyond which it returns 413. Default 1 MiB. Storage has its own limit. */
  maxBodyBytes: z.int().positive().default(1_048_576),
  /** Faults to inject, parsed by `FaultRulesSchema`. Absent: none. */
  faults: z.custom<FaultRules>().optional(),
  /** Epoch milliseconds for expiry and upload processing. Default `Date.now`. */
  now: z.custom<() => number>(isFunction).default(() => Date.now),
});

/** How a sandbox is started. Only `key` is required. */
export type SandboxOptions = Omit<z.input<typeof OptionsSchema>, "behavior"> & {
  /** The settings that differ from the defaults. */
  behavior?: Partial<Behavior>;
};

/** Options with all defaults. */
export type Settings = Readonly<z.output<typeof OptionsSchema>>;

/**
 * Checks the options and adds the defaults.
 *
 * @throws SandboxError `invalid-option`, naming every option that is wrong.
 */
export function compileOptions(options: SandboxOptions): Settings {
  const parsed = OptionsSchema.safeParse(options);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new SandboxError({
      code: "invalid-option",
      message: `The sandbox cannot start: ${problems.join("; ")}`,
      hint: "Correct the named options.",
    });
  }
  const { products, behavior } = parsed.data;
  const noProducts = products === "any" && behavior.unknownProducts === "missing";
  return Object.freeze({ ...parsed.data, products: noProducts ? new Set<number>() : products });
}
