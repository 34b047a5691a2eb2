import { z } from "zod";
import { DraftsyncError } from "../model/errors.ts";
import { lazily } from "../model/lazily.ts";
import type { LedgerEffect } from "../model/ports.ts";
import { operationKinds } from "../model/recorded.ts";
import type { RecoveryRecord } from "../model/recovery.ts";
import { fileKinds } from "../model/resource.ts";
import {
  attachmentSchema,
  failureSchema,
  intentSchema,
  outcomes,
  productRefSchema,
  provenanceSchema,
} from "./record-schemas.ts";
import { describeDamage, parseDocument } from "./stored-json.ts";

/** Of a record's JSON; rises when a reader of it would have to change. */
export const recoveryRecordVersion = 1;

/** A recovery log that cannot be used. Codes: `recovery-unreadable`, `recovery-invalid`. */
export class RecoveryError extends DraftsyncError {
  override readonly name = "RecoveryError";
}

/** One line of JSON with a line feed. */
export function formatRecoveryRecord(record: RecoveryRecord): string {
  return `${JSON.stringify({ format_version: recoveryRecordVersion, ...record })}\n`;
}

/**
 * Parses records, one a line (skips empty lines). Throws {@link RecoveryError} `recovery-invalid` for
 * anything else; `name` is how messages call the text.
 */
export function parseRecoveryRecords(text: string, name: string): RecoveryRecord[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) throw invalid(`${name} is empty.`);
  return lines.map((line) => parseLine(line, name));
}

function parseLine(line: string, name: string): RecoveryRecord {
  const parsed = recordSchema().safeParse(parseDocument(line, name, recoveryLog));
  if (parsed.success) return parsed.data;
  throw invalid(describeDamage(name, parsed.error));
}

const recoveryLog = {
  version: recoveryRecordVersion,
  title: "a recovery log",
  otherVersion: "Replay it with the version of draftsync that wrote it, or with a newer one.",
  invalid,
};

const text = z.string();
const integer = z.int();
const target = lazily(() => z.strictObject({ draftId: integer, kind: z.enum(fileKinds), fileId: integer }));

const effectSchema = lazily(
  (): z.ZodType<LedgerEffect> =>
    z.discriminatedUnion("type", [
      z.strictObject({
        type: z.literal("attached"),
        attachment: attachmentSchema,
        replaces: integer.exactOptional(),
      }),
      z.strictObject({ type: z.literal("rerecorded"), attachment: attachmentSchema }),
      z.strictObject({
        type: z.literal("readdressed"),
        target: target(),
        address: text,
        sha256: text.exactOptional(),
      }),
      z.strictObject({ type: z.literal("detached"), target: target() }),
      z.strictObject({
        type: z.literal("published"),
        draftId: integer,
        revision: integer,
        productId: integer,
        provenance: provenanceSchema,
      }),
      z.strictObject({
        type: z.literal("duplicated"),
        name: z.string().normalize("NFC"),
        from: productRefSchema,
        sourceProductId: integer,
        productId: integer,
        provenance: provenanceSchema,
      }),
      z.strictObject({ type: z.literal("duplicate_forgotten"), name: z.string().normalize("NFC") }),
      z.strictObject({ type: z.literal("protection"), draftId: integer, protect: z.boolean() }),
      z.strictObject({ type: z.literal("maybe_published"), draftId: integer, at: integer }),
      z.strictObject({
        type: z.literal("object_stored"),
        uploadKey: text,
        source: text,
        sha256: text,
        size: integer,
        at: integer,
      }),
      z.strictObject({ type: z.literal("object_forgotten"), uploadKey: text }),
      z.strictObject({
        type: z.literal("upload_registered"),
        uploadId: text,
        uploadKey: text,
        source: text.exactOptional(),
        sha256: text.exactOptional(),
        size: integer.exactOptional(),
        at: integer,
      }),
      z.strictObject({
        type: z.literal("settled"),
        operationId: text,
        outcome: z.enum(["done", "rejected", "not_sent"]),
      }),
      z.strictObject({
        type: z.literal("upload_found"),
        uploadId: text,
        status: z.enum(["success", "failed"]),
        fileId: integer.exactOptional(),
        at: integer,
      }),
      z.strictObject({
        type: z.literal("upload_ended"),
        uploadId: text,
        status: z.enum(["success", "failed"]),
        fileId: integer.exactOptional(),
      }),
    ]),
);

const recordSchema = lazily(
  (): z.ZodType<RecoveryRecord> =>
    z.strictObject({
      lineage: text.min(1),
      owner: z.strictObject({ origin: text, workspace: text }),
      command: text,
      lockId: text.exactOptional(),
      savedAt: integer,
      operation: z.strictObject({
        id: text.min(1),
        runId: text.min(1),
        address: text,
        kind: z.enum(operationKinds),
        method: text,
        path: text,
        intent: intentSchema,
      }),
      result: z.strictObject({
        outcome: z.enum(outcomes),
        status: integer.exactOptional(),
        attempts: integer,
        failure: failureSchema.exactOptional(),
      }),
      effects: z.array(effectSchema()),
      productId: integer.exactOptional(),
    }),
);

function invalid(
  message: string,
  hint = "Keep a copy: it has the outcomes of calls. If you cannot fix it, move it away and settle with `draftsync resolve` what plan shows in doubt.",
): RecoveryError {
  return new RecoveryError(message, { code: "recovery-invalid", hint });
}
