import { z } from "zod";
import { durationSchema, positiveDurationSchema } from "../model/time.ts";
import { policyActions } from "../plan/policy.ts";
import { serviceProfileSchema } from "../service/profile.ts";
import { maxConcurrency } from "./cli.ts";

const rateSchema = z
  .strictObject({
    limit: z.int().min(1).max(100_000).default(10).describe("Calls allowed in any window"),
    window: positiveDurationSchema.prefault("1s").describe("Length of the window"),
    shared: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Database in which workspaces with one API key share the rate limit: a SQLite file, relative to this file, or `postgres://user@host/database?schema=name` without a password. DRAFTSYNC_RATE_SHARED overrides it. By default the commands that use one ledger share it there",
      ),
  })
  .prefault({})
  .describe(
    "Rate limit: at most `limit` calls arrive in any window. Retries, polls and pages count. DRAFTSYNC_RATE, such as `10/1s`, overrides both",
  );

const remoteSchema = z
  .strictObject({
    base_url: z
      .string()
      .min(1)
      .describe("Address of the service, such as `https://api.example.com`, with an optional path"),
    api_key_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        "File that contains the API key and nothing else, relative to this file. DRAFTSYNC_API_KEY overrides it",
      ),
    ca_file: z
      .string()
      .min(1)
      .optional()
      .describe("File with additional trusted certificate authorities (PEM), relative to this file"),
    allow_http: z
      .boolean()
      .default(false)
      .describe("Allow http on other machines, which sends the API key unencrypted"),
    rate: rateSchema,
    concurrency: z.int().min(1).max(maxConcurrency).default(8).describe("Maximum number of calls in flight"),
    timeout: positiveDurationSchema
      .prefault("30s")
      .describe("Timeout of a call, from sending it to the last byte of the response"),
    profile: serviceProfileSchema
      .prefault({})
      .describe("Behavior of this service where the API leaves a choice"),
  })
  .describe("A service over the network");

const sandboxSchema = z.literal("sandbox").describe("A local copy of the service, stored next to the ledger");

const refreshSchema = z.strictObject({
  attachments: z
    .enum(["none", "probe"])
    .default("none")
    .describe("How to check files: `none` relies on the ledger, `probe` sends an update without attributes"),
  max_calls: z.int().min(0).default(500).describe("Maximum number of calls of a refresh, including retries"),
  max_age: durationSchema.prefault("0s").describe("Skip resources that were confirmed within this time"),
});

const percent = z.number().min(0).max(100);

/** `draftsync.yaml`. Durations are strings on the outside and milliseconds once parsed. */
export const configSchema = z
  .strictObject({
    version: z.literal(1).describe("Format version of this file"),
    extends: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Config with settings that several workspaces share, relative to this file. Mappings are merged, and the values of this file win. It may have anything but `workspace`, `manifests` and `state`; its paths are relative to itself",
      ),
    workspace: z
      .string()
      .regex(
        /^[a-z0-9][a-z0-9._-]{0,62}$/,
        "must be lower-case letters, digits, dots, dashes and underscores, 63 at most",
      )
      .describe(
        "Name of this set of manifests, with one service account and one ledger: up to 63 lower-case letters, digits, dots, dashes and underscores",
      ),
    manifests: z
      .array(z.string().min(1))
      .min(1)
      .default(["manifests/**/*.{yaml,yml}"])
      .describe("Patterns of the manifest files, relative to this file"),
    service: z.union([sandboxSchema, remoteSchema]).describe("The service, or `sandbox`"),
    state: z
      .string()
      .min(1)
      .default(".draftsync/state.db")
      .describe(
        "The ledger: a SQLite file, relative to this file, or `postgres://user@host/database` without a password",
      ),
    refresh: refreshSchema
      .optional()
      .describe(
        "What to check at the service before a plan, an apply or a reconcile run. If absent, only reconcile runs check the service",
      ),
    safety: z
      .strictObject({
        max_deletes: z
          .strictObject({
            percent: percent.default(30).describe("Percentage of the recorded files"),
            above: z.int().min(0).default(10).describe("Number of files that a plan may always delete"),
          })
          .prefault({})
          .describe("A plan that deletes more files than both limits is refused"),
        removed_drafts: z
          .enum(["refuse", "delete"])
          .default("refuse")
          .describe(
            "Files of drafts, and records of duplicates, that are no longer declared: `refuse` deletes them only with consent (a saved plan, the question on a terminal, or `--remove-drafts`), and `reconcile` never; `delete` without consent",
          ),
      })
      .prefault({})
      .describe("Safety limits of a plan"),
    reconcile: z
      .strictObject({
        allow: z
          .array(z.enum(policyActions))
          .default(["create", "update"])
          .describe("Actions to apply without approval. Other changes are excluded and reported"),
        lock_wait: durationSchema
          .prefault("5m")
          .describe("How long a run waits for another process to release the lock"),
      })
      .prefault({})
      .describe("Settings of `draftsync reconcile`"),
    notify: z
      .strictObject({
        url: z
          .string()
          .min(1)
          .optional()
          .describe("Webhook URL for status changes. DRAFTSYNC_NOTIFY_URL overrides it"),
        url_file: z
          .string()
          .min(1)
          .optional()
          .describe(
            "File that contains the webhook URL and nothing else. Keep it secret: the URL is enough to post there",
          ),
      })
      .prefault({})
      .describe("Notifications of `draftsync reconcile`"),
  })
  .describe("The config of a draftsync workspace");

/** The parsed file, durations in milliseconds. */
export type ConfigFile = z.output<typeof configSchema>;

/** To compile a schema takes longer than to use it once. */
const once = { jitless: true } as const;

/** Default refresh settings. */
export function defaultRefresh(): z.output<typeof refreshSchema> {
  return refreshSchema.parse({}, once);
}

/** A service of which only the address is known. */
export function defaultRemote(baseUrl: string): z.output<typeof remoteSchema> {
  return remoteSchema.parse({ base_url: baseUrl }, once);
}

/** The JSON Schema of the config, for editors. One that extends another may leave out what that one has. */
export function configJsonSchema(): object {
  const { required, ...schema } = z.toJSONSchema(configSchema, { io: "input", target: "draft-7" });
  const anyOf = [{ required }, { required: ["extends", "workspace"] }];
  return { ...schema, anyOf, title: "draftsync config" };
}
