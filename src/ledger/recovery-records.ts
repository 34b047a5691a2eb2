import { z } from "zod";
import { DraftsyncError } from "../model/errors.ts";
import { parseJson } from "../model/parse-json.ts";
import { type RecoveryRecord, recoveryRecordSchema } from "../model/recovery.ts";
import { describeDamage, parseDocument } from "./stored-json.ts";

/** Of a record's JSON; rises when a reader of it would have to change. */
export const recoveryRecordVersion = 1;

/** A recovery log that cannot be used. Codes: `recovery-unreadable`, `recovery-invalid`. */
export class RecoveryError extends DraftsyncError {
  override readonly name = "RecoveryError";
}

/**
 * Parses records, one a line (skips empty lines). Throws `recovery-invalid` for anything else; `name` is how messages call
 * the text.
 */
export function parseRecoveryRecords(text: string, name: string): RecoveryRecord[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) throw invalid(`${name} is empty.`);
  return lines.map((line) => {
    const parsed = recoveryRecordSchema.safeParse(parseDocument(recordOf(line), name, recoveryLog));
    if (parsed.success) return parsed.data;
    throw invalid(describeDamage(name, parsed.error));
  });
}

const logEntrySchema = z.looseObject({ outcome: z.looseObject({}) });

/** The record in a line. With `--log-format json`, an outcome that could not be saved is printed inside a log entry. */
function recordOf(line: string): string {
  const entry = logEntrySchema.safeParse(parseJson(line)).data;
  return entry === undefined ? line : JSON.stringify(entry.outcome);
}

const recoveryLog = {
  version: recoveryRecordVersion,
  title: "a recovery log",
  otherVersion: "Replay it with the version of draftsync that wrote it, or with a newer one.",
  invalid,
};

function invalid(
  message: string,
  hint = "Keep a copy: it has the outcomes of calls. If you cannot fix it, move it away and settle with `draftsync resolve` what plan shows in doubt.",
): RecoveryError {
  return new RecoveryError(message, { code: "recovery-invalid", hint });
}

/** One line of JSON with a line feed. */
export function formatRecoveryRecord(record: RecoveryRecord): string {
  return `${JSON.stringify({ format_version: recoveryRecordVersion, ...record })}\n`;
}
