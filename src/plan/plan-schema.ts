import { z } from "zod";
import { actions } from "../model/action.ts";
import { planFormatVersion } from "../model/plan.ts";
import { confirmations } from "../model/recorded.ts";
import { attributeShape } from "../model/resource.ts";

const text = z.string();
const count = z.int().nonnegative();
const id = z.int().positive();
const digest = z.string().regex(/^[0-9a-f]{64}$/);

const attachmentState = z.strictObject({
  file_id: id.exactOptional(),
  source: text.exactOptional(),
  sha256: text.exactOptional(),
  size: count.exactOptional(),
  upload_id: text.exactOptional(),
  upload_key: text.exactOptional(),
  address: text.exactOptional(),
  ...attributeShape,
});
const protectState = z.strictObject({ protect: z.boolean() });
const publication = z.strictObject({ revision: id, product_id: id });

const reason = z.enum([
  "not_recorded",
  "attributes_differ",
  "drifted",
  "gone",
  "found",
  "content_changed",
  "renamed",
  "not_in_manifest",
  "not_published",
  "revision_raised",
  "protect",
  "unprotect",
  "outcome_unknown",
]);

const confirmed = z.strictObject({ by: z.enum(confirmations), at: text });
const resourceName = { title: text.exactOptional(), declared_at: text.exactOptional() };

const inDoubtState = z.strictObject({
  operation_id: text,
  kind: text,
  method: text,
  path: text,
  since: text,
  status: z.int().exactOptional(),
  detail: text,
});

function changeOf<A extends string, B extends z.ZodType, C extends z.ZodType>(
  action: A,
  before: B,
  after: C,
) {
  return z.strictObject({
    address: text,
    action: z.literal(action),
    reason,
    before,
    after,
    attributes: z.array(text),
    confirmed: confirmed.exactOptional(),
    doubt: inDoubtState.exactOptional(),
    ...resourceName,
  });
}

const takeover = { takes_over: z.literal(true).exactOptional() };

const change = z.union([
  changeOf("create", z.null(), attachmentState).extend({ had_file: z.literal(true).exactOptional() }),
  changeOf("update", attachmentState, attachmentState).extend(takeover),
  changeOf("update", protectState, protectState),
  changeOf("replace", attachmentState, attachmentState),
  changeOf("adopt", attachmentState, attachmentState).extend(takeover),
  changeOf("delete", attachmentState, z.null()).extend({
    completes_replace: z.literal(true).exactOptional(),
  }),
  changeOf("publish", publication.nullable(), z.strictObject({ revision: id })),
  changeOf(
    "duplicate",
    z.null(),
    z.strictObject({ product_id: id.exactOptional(), draft_id: id.exactOptional() }),
  ).extend({ former: text.exactOptional() }),
  changeOf("forget", z.strictObject({ product_id: id }), z.null()),
  changeOf("in_doubt", inDoubtState, attachmentState.nullable()).extend({
    ...takeover,
    check_only: z.literal(true).exactOptional(),
  }),
]);

function driftOf<T extends string, B extends z.ZodType, A extends z.ZodType>(type: T, before: B, after: A) {
  return z.strictObject({
    address: text,
    type: z.literal(type),
    before,
    after,
    attributes: z.array(text),
    confirmed: confirmed.nullable(),
    observed_at: text,
    ...resourceName,
  });
}

const drift = z.union([
  driftOf("changed", attachmentState, attachmentState),
  driftOf("gone", attachmentState, z.null()),
  driftOf("found", z.null(), attachmentState),
  driftOf("product_gone", z.strictObject({ product_id: id }), z.null()),
]);

const refresh = z.strictObject({
  mode: z.enum(["budget", "full"]),
  attachments: z.enum(["none", "probe"]),
  calls: count,
  max_calls: count.nullable(),
  checked: count,
  unreadable: count,
  deferred: count,
  not_checked: count,
  oldest_unconfirmed: text.nullable(),
});

const diagnostic = z.strictObject({
  severity: z.enum(["error", "warning", "info"]),
  code: text,
  message: text,
  hint: text.exactOptional(),
  address: text.exactOptional(),
  place: z.strictObject({ file: text, line: count, column: count }).exactOptional(),
  excerpt: z
    .array(
      z.strictObject({
        line: count,
        text,
        mark: z.strictObject({ column: count, length: count }).exactOptional(),
      }),
    )
    .exactOptional(),
});

/** The JSON of a plan, as a saved plan holds it. */
export const planSchema = z.strictObject({
  format_version: z.literal(planFormatVersion),
  plan_id: digest,
  workspace: text,
  base: z.strictObject({
    lineage: text,
    serial: count,
    resources: z.array(
      z.strictObject({
        address: text,
        version: text.exactOptional(),
        recorded: digest,
        declared: digest.exactOptional(),
        in_doubt: z.array(text).exactOptional(),
      }),
    ),
  }),
  service_origin: text,
  new_ledger: z.boolean(),
  summary: z.partialRecord(z.enum(actions), count),
  estimate: z.strictObject({
    calls: z.strictObject({ min: count, max: count }),
    seconds: count,
    rate: z.strictObject({ limit: id, window_ms: id }),
    uploads_per_read: id,
  }),
  refresh: refresh.exactOptional(),
  drift: z.array(drift).exactOptional(),
  drafts: z.array(z.strictObject({ address: text, ...resourceName })),
  removed_drafts: z.array(z.strictObject({ address: text, deletes: id })),
  unmanaged: z.array(z.strictObject({ address: text, files: id })),
  changes: z.array(change),
  diagnostics: z.array(diagnostic),
});

/** The JSON Schema (draft 2020-12) of a plan. */
export function planJsonSchema(): object {
  return { ...z.toJSONSchema(planSchema, { io: "input" }), title: "draftsync plan" };
}
