import { z } from "zod";
import { messageOf } from "../model/errors.ts";
import { settlements } from "../model/history.ts";
import { operationKinds } from "../model/recorded.ts";
import { documentNameOf, exportVersion, membersOf } from "./export-document.ts";
import { outcomes } from "./history.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerExport } from "./ledger-export.ts";
import { attachmentSchema, productRefSchema, provenanceSchema } from "./record-schemas.ts";
import { failureSchema, intentSchema, totalsSchema } from "./stored-json.ts";

/**
 * Reads what `state export` wrote, of this version of the format or an earlier one. Rejects anything else with
 * `ledger-import-invalid`, which says where the first mistake is; `name` is what the text is called in messages.
 */
export function parseExport(text: string, name: string): LedgerExport {
  const found = versionSchema.safeParse(readJson(text, name));
  if (!found.success) throw invalid(`${name} is not an export of a ledger.`);
  const { format_version: version, ...document } = found.data;
  if (version < 1 || version > exportVersion) {
    throw invalid(
      `${name} has format version ${version}; this draftsync reads versions up to ${exportVersion}.`,
      "Import it with the version of draftsync that wrote it, or with a newer one.",
    );
  }
  const parsed = exportSchema.safeParse(version === camelCaseVersion ? document : membersOf(document));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path.map((step) =>
    version === camelCaseVersion ? String(step) : documentNameOf(step),
  );
  throw invalid(`${name} is damaged at ${path?.join(".")}: ${issue?.message}.`);
}

/** It had names in `camelCase`, no stored objects and no refreshes. Version 2 had no confirmation of the ledger, version 3 no `maybe_published`. */
const camelCaseVersion = 1;

const text = z.string();
const integer = z.int();
const optionalInteger = integer.exactOptional();
const optionalText = text.exactOptional();

const versionSchema = z.looseObject({ format_version: integer });

const operationSchema = z.strictObject({
  id: text,
  runId: text,
  address: text,
  kind: z.enum(operationKinds),
  method: text,
  path: text,
  intent: intentSchema(),
  startedAt: integer,
  finishedAt: optionalInteger,
  detail: optionalText,
  outcome: z.enum(outcomes).exactOptional(),
  status: optionalInteger,
  attempts: optionalInteger,
  failure: failureSchema().exactOptional(),
  settled: z.strictObject({ as: z.enum(settlements), at: integer, by: optionalText }).exactOptional(),
});

const exportSchema: z.ZodType<LedgerExport> = z.strictObject({
  lineage: text.min(1),
  serial: integer.min(0),
  service_origin: text.nullable(),
  workspace: text.nullable(),
  confirmed_at: integer.nullable().default(null),
  protected_drafts: z.array(integer),
  maybe_published: z.array(z.strictObject({ draftId: integer, at: integer })).default([]),
  attachments: z.array(attachmentSchema()),
  publications: z.array(
    z.strictObject({
      draftId: integer,
      revision: integer,
      productId: integer,
      provenance: provenanceSchema(),
    }),
  ),
  duplicates: z.array(
    z.strictObject({
      name: z.string().normalize("NFC"),
      from: productRefSchema(),
      sourceProductId: integer,
      productId: integer,
      provenance: provenanceSchema(),
    }),
  ),
  uploads: z.array(
    z.strictObject({
      uploadId: text,
      uploadKey: optionalText,
      source: optionalText,
      sha256: optionalText,
      size: optionalInteger,
      status: z.enum(["pending", "success", "failed"]),
      fileId: optionalInteger,
      at: integer,
    }),
  ),
  stored_objects: z
    .array(z.strictObject({ uploadKey: text, source: text, sha256: text, size: integer, at: integer }))
    .default([]),
  refreshes: z.array(z.strictObject({ resource: text, at: integer })).default([]),
  operations: z.array(operationSchema),
  runs: z.array(
    z.strictObject({
      id: text,
      command: text,
      planId: text,
      startedAt: integer,
      finishedAt: optionalInteger,
      status: optionalText,
      totals: totalsSchema().exactOptional(),
    }),
  ),
});

function readJson(json: string, name: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw invalid(`${name} is not JSON (${messageOf(error)}).`);
  }
}

function invalid(
  message: string,
  hint = "Import what `draftsync state export` wrote, unchanged.",
): LedgerError {
  return new LedgerError("ledger-import-invalid", message, { hint });
}
