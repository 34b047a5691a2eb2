import { z } from "zod";
import { actions } from "./action.ts";
import { eventFormatVersion } from "./event.ts";
import { failureSchema, outcomes } from "./outcome.ts";
import { reconcileStatuses } from "./reconcile-result.ts";

const text = z.string();
const count = z.int().nonnegative();
const id = z.int().positive();
const at = z.int().nonnegative().describe("Time, epoch milliseconds");
const ms = count.describe("Duration, milliseconds");
const address = text.describe("Address of a change, such as drafts/48213/product_files/9900011");
/** Of the draft that an address belongs to. */
const names = {
  title: text.exactOptional().describe("Title of the draft"),
  declared_at: text.exactOptional().describe("Line of the manifest, such as manifests/sea-serpent.yaml:7"),
};
const action = z.enum(actions);
const outcome = z.enum(outcomes);
const status = z.int().min(100).max(999).exactOptional().describe("HTTP status; absent without a response");
/** Of a file at the service. */
const otherValues = z.array(z.strictObject({ name: text, sent: text, returned: text }));
const attempt = z.int().positive().describe("1 for the first request, one more for each retry of it");
const formatVersion = z.literal(eventFormatVersion).describe("Of this event and all that follow");

const summary = z
  .partialRecord(action, count)
  .readonly()
  .describe("Number of changes by action; noop counts those already up to date");

const failure = failureSchema.readonly().describe("Why a call or change failed");

const totals = z
  .object({
    done: count,
    failed: count,
    in_doubt: count,
    skipped: count,
    deferred: count.describe("Left for the next run, because this one reached its limit"),
    calls: count.describe("Requests to the service, retries and polls included"),
  })
  .readonly()
  .describe("Number of changes by outcome");

const estimate = z
  .object({
    calls: z.object({ min: count, max: count }).readonly(),
    seconds: count.describe("For the minimum number of calls at the configured rate limit"),
    rate: z.object({ limit: z.number(), window_ms: z.number() }).readonly(),
    uploads_per_read: count.describe("Uploads that one call reads"),
  })
  .readonly()
  .describe("Estimated cost of applying the plan");

function event<T extends string, S extends z.core.$ZodShape>(type: T, shape: S) {
  return z.object({ type: z.literal(type), ...shape }).readonly();
}

/**
 * An event as `--json` writes it: `Event` is its type. It passes over members that it does not know, as consumers should: the
 * same format version may have more of them in a later release.
 */
export const eventSchema = z
  .discriminatedUnion("type", [
    // Comes first, unless a refresh runs before.
    event("planned", {
      format_version: formatVersion,
      at,
      plan_id: text,
      workspace: text,
      summary,
      estimate,
    }),
    // A refresh begins.
    event("refresh_started", { format_version: formatVersion, at, calls: count.describe("Without retries") }),
    event("refresh_finished", {
      at,
      mode: z.enum(["budget", "full"]),
      attachments: z.enum(["none", "probe"]),
      calls: count.describe("Retries included"),
      max_calls: count.nullable().describe("null: no limit"),
      checked: count,
      unreadable: count,
      deferred: count,
      not_checked: count.describe("Recorded attachments and products that were not checked"),
      oldest_unconfirmed: text.nullable().describe("ISO 8601, UTC"),
      drift: count.describe("Resources that changed outside draftsync"),
    }),
    event("run_started", {
      at,
      run_id: text,
      plan_id: text,
      summary,
      calls: count.describe("Minimum number of calls"),
    }),
    // A change of the plan that this run leaves out until a person settles it.
    event("change_excluded", {
      at,
      address,
      ...names,
      action,
      code: text.describe("Code of the warning with the reason, such as new-ledger or maybe-published"),
    }),
    event("change_started", { at, address, ...names, action }),
    event("change_finished", {
      at,
      address,
      ...names,
      action,
      outcome: z.enum([...outcome.options, "skipped", "deferred"]),
      ms,
      file_id: id.exactOptional(),
      product_id: id.exactOptional(),
      was_attached: z
        .literal(true)
        .exactOptional()
        .describe("The file was attached before this ledger existed, so its draft may be published as well"),
      stays_attached: z
        .literal(true)
        .exactOptional()
        .describe(
          "Of a delete: another entry turned out to be the same file and has taken it, so it was not detached",
        ),
      failure: failure.exactOptional(),
      because: text
        .exactOptional()
        .describe("For skipped: the address it depended on, or why the run stopped; for deferred: the limit"),
    }),
    // The service returned other values than were sent; the ledger records those that were sent.
    event("values_differ", { at, address, ...names, values: otherValues }),
    // An update's response names other values of attributes that were not sent; the declared ones are sent again.
    event("values_replaced", { at, address, ...names, values: otherValues }),
    event("call_finished", {
      at,
      method: text,
      path: text,
      address: text.exactOptional(),
      ...names,
      attempt,
      outcome,
      status,
      ms,
    }),
    // One request to object storage, a retry as well. Query and signature are left out.
    event("storage_call_finished", { at, method: text, bucket: text, key: text, attempt, status, ms }),
    event("waiting", {
      at,
      reason: z.enum(["ledger", "retry_after", "shared_bound", "backoff", "settle", "upload"]),
      ms: z.number().nonnegative().describe("Duration, milliseconds"),
    }),
    // The service has announced a bound of its own, which is kept beside the configured one.
    event("bound_announced", { at, limit: z.number().positive(), window_ms: z.number().positive() }),
    // `sent` is 0 when it begins; a large file grows part by part.
    event("upload_progress", {
      at,
      source: text.describe("A local file, relative to the workspace"),
      sent: count.describe("Bytes received by storage"),
      total: count.describe("Bytes"),
    }),
    // The bytes of a file are in storage, or will not be; the service has not seen them yet.
    event("upload_finished", { at, source: text, outcome: z.enum(["done", "rejected", "not_sent"]), ms }),
    event("run_finished", {
      at,
      run_id: text,
      totals,
      ms,
      stopped: z
        .union([z.enum(["interrupted", "max_calls", "until"]), failure])
        .exactOptional()
        .describe("Present if the run ended before its plan was complete"),
    }),
    // The last event of a reconcile, also of one that sent nothing.
    event("reconcile_finished", {
      format_version: formatVersion,
      at,
      workspace: text,
      status: z.enum(reconcileStatuses),
      ms,
      run_id: text.exactOptional().describe("Absent if no run was recorded"),
      totals: totals.exactOptional(),
      excluded: z
        .record(text, count)
        .readonly()
        .exactOptional()
        .describe("Excluded changes by what would have to be allowed"),
      in_doubt: count.exactOptional().describe("Changes in doubt at its end"),
      drift: count.exactOptional().describe("Resources that changed outside draftsync"),
      refresh_calls: count.exactOptional().describe("Calls of the refresh; they are not in totals"),
      code: text.exactOptional().describe("Of the error that ended it"),
    }),
  ])
  .describe("One line of the output of apply --json and reconcile --json");

/** The JSON Schema (draft 2020-12) of one event. */
export function eventJsonSchema(): object {
  const schema = z.toJSONSchema(eventSchema, {
    io: "input",
    override: ({ jsonSchema }) => {
      // It says that the types are immutable, which is nothing to a consumer.
      delete jsonSchema.readOnly;
    },
  });
  return { ...schema, title: "draftsync event" };
}
