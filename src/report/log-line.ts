import type { LogEntry } from "../model/log.ts";
import { sanitizeJson } from "../model/sanitize-json.ts";
import { isoTime } from "../model/time.ts";

/** How much is written. */
export type Verbosity = "quiet" | "normal" | "verbose";

/** Whether an entry is written: `quiet` leaves warnings, errors and results, `verbose` adds every call. */
export function isShown({ level, isResult }: LogEntry, verbosity: Verbosity): boolean {
  switch (level) {
    case "error":
    case "warning":
      return true;
    case "info":
      return isResult === true || verbosity !== "quiet";
    case "debug":
      return verbosity === "verbose";
  }
}

/** What an entry is about, the same for many: members of every line of JSON. */
export interface LogContext {
  readonly workspace?: string;
  readonly run_id?: string;
}

/**
 * An entry as one line of JSON for log collectors: `time` (ISO 8601, UTC), `level`, `message`, `code` where there is one, the
 * context, and its further facts. `at` is in epoch milliseconds. Empty for an entry that is layout alone.
 */
export function formatLogLine(entry: LogEntry, at: number, context: LogContext = {}): string {
  const message = entry.message ?? entry.text.trim().replace(/^(error|warning|note): /, "");
  if (message === "") return "";
  const { level, code, facts } = entry;
  const time = isoTime(at);
  return `${sanitizeJson({ time, level, message, ...(code === undefined ? {} : { code }), ...context, ...facts })}\n`;
}
