import { z } from "zod";
import { durationSchema, positiveDurationSchema } from "../model/duration.ts";
import { policyActions } from "../plan/policy.ts";
import { serviceProfileSchema } from "../service/profile.ts";

const rateSchema = z
  .strictObject({
    limit: z.int().min(1).max(100_000).default(10).describe("Calls that may arrive in any window"),
    window: positiveDurationSchema.prefault("1s").describe("Length of the window"),
  })
  .prefault({})
  .describe("The bound: at most `limit` calls arrive in any window. Retries, polls and pages count.");

const remoteSchema = z
  .strictObject({
    base_url: z
      .string()
      .min(1)
      .describe("Address of the service, such as `https://api.example.com`; a path is kept"),
    api_key_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        "File that holds the access key and nothing else, relative to this file; DRAFTSYNC_API_KEY comes first",
      ),
    ca_file: z
      .string()
      .min(1)
      .optional()
      .describe("Certificates (PEM) of authorities to trust beside the usual ones, relative to this file"),
    allow_http: z
      .boolean()
      .default(false)
      .describe("Whether base_url may be http elsewhere than on this machine, where others can read the key"),
    rate: rateSchema,
    concurrency: z.int().min(1).max(256).default(8).describe("Calls under way at the same time"),
    timeout: positiveDurationSchema
      .prefault("30s")
      .describe("Longest time for one call, from dispatch to the last byte"),
    profile: serviceProfileSchema
      .prefault({})
      .describe("How this service settles what the interface leaves open"),
  })
  .describe("A service over the network");

const sandboxSchema = z
  .literal("sandbox")
  .describe("The whole service on this machine, kept beside the ledger");

const refreshSchema = z.strictObject({
  attachments: z
    .enum(["none", "probe"])
    .default("none")
    .describe(
      "Files: `none`, they are taken from the ledger; `probe`, looked at by an update that names no attribute",
    ),
  max_calls: z.int().min(0).default(500).describe("Calls that looking may take, retries included"),
  max_age: durationSchema
    .prefault("0s")
    .describe("What was confirmed within this time is not looked at again"),
});

const percent = z.number().min(0).max(100);

/** `draftsync.yaml`. Durations are strings on the outside and milliseconds once parsed. */
export const configSchema = z
  .strictObject({
    version: z.literal(1).describe("Version of this file's format"),
    workspace: z
      .string()
      .regex(
        /^[a-z0-9][a-z0-9._-]{0,62}$/,
        "must be lower-case letters, digits, dots, dashes and underscores, 63 at most",
      )
      .describe(
        "Name of this set of manifests, one service account and one ledger: lower-case letters, digits, dots, dashes and underscores, 63 at most",
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
        "What is looked at before a plan, an apply and a reconciliation; without it, nothing is before the first two",
      ),
    safety: z
      .strictObject({
        max_deletes: z
          .strictObject({
            percent: percent.default(30).describe("Share of the recorded files, in percent"),
            above: z.int().min(0).default(10).describe("This many are detached without asking"),
          })
          .prefault({})
          .describe("A plan that detaches more files than both of these is refused"),
        removed_drafts: z
          .enum(["refuse", "delete"])
          .default("refuse")
          .describe(
            "What happens to the files of recorded drafts that are no longer declared: `refuse`, they are deleted only with consent (a saved plan, the question on a terminal, `--remove-drafts`); `delete`, without",
          ),
      })
      .prefault({})
      .describe("What a plan may do without being asked twice"),
    reconcile: z
      .strictObject({
        allow: z
          .array(z.enum(policyActions))
          .default(["create", "update"])
          .describe("What is carried out without anybody being asked; the rest is held back and told"),
        lock_wait: durationSchema
          .prefault("5m")
          .describe("How long a round waits for the lock while somebody else writes"),
      })
      .prefault({})
      .describe("What `draftsync reconcile` does"),
    notify: z
      .strictObject({
        url: z
          .string()
          .min(1)
          .optional()
          .describe("Webhook that is told when the status changes; DRAFTSYNC_NOTIFY_URL comes first"),
        url_file: z
          .string()
          .min(1)
          .optional()
          .describe(
            "File that holds the webhook's address and nothing else, since whoever has it can write there",
          ),
      })
      .prefault({})
      .describe("Whom `draftsync reconcile` tells"),
  })
  .describe("The config of a draftsync workspace");

/** The parsed file, durations in milliseconds. */
export type ConfigFile = z.output<typeof configSchema>;

/** The service's settings, where it is not the sandbox. */
export type RemoteService = z.output<typeof remoteSchema>;

/** To compile a schema takes longer than to use it once. */
const once = { jitless: true } as const;

/** The settings of looking where the config has none. */
export function defaultRefresh(): z.output<typeof refreshSchema> {
  return refreshSchema.parse({}, once);
}

/** A service of which only the address is known. */
export function defaultRemote(baseUrl: string): RemoteService {
  return remoteSchema.parse({ base_url: baseUrl }, once);
}

/** The JSON Schema of the config, for editors. */
export function configJsonSchema(): object {
  return { ...z.toJSONSchema(configSchema, { io: "input", target: "draft-7" }), title: "draftsync config" };
}
