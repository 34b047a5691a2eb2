import stringWidth from "fast-string-width";
import type { Event } from "../model/event.ts";
import type { LogEntry } from "../model/log.ts";
import { sanitizeJson } from "../model/sanitize-json.ts";
import { isoTime } from "../model/time.ts";
import { formatMilliseconds } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

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

/**
 * A call that has ended, for `--verbose`: `POST /api/drafts/1/product_files 201 in 180 ms`. It leaves out the body, and
 * of a call to object storage neither query nor signature. `undefined` for every other event.
 */
export function formatCall(event: Event): LogEntry | undefined {
  const line = (request: string, facts: { method: string; status?: number; attempt: number; ms: number }) => {
    const { status, attempt, ms } = facts;
    const again = attempt === 1 ? "" : `, attempt ${attempt}`;
    const message = sanitizeLine(
      `${request} ${status ?? "no response"} in ${formatMilliseconds(ms)}${again}`,
    );
    return { level: "debug", text: `${message}\n`, message, code: event.type, facts } as const;
  };
  switch (event.type) {
    case "call_finished": {
      const { type: _type, at: _at, ...facts } = event;
      return line(`${event.method} ${event.path}`, facts);
    }
    case "storage_call_finished": {
      const { type: _type, at: _at, ...facts } = event;
      return line(`${event.method} s3://${event.bucket}/${event.key}`, facts);
    }
    default:
      return undefined;
  }
}

/**
 * Breaks the lines of a text that are longer than the terminal between words, so that no path and no command is cut in two.
 * What follows is indented below its line. Colors take no room. A word that is longer than a line stays whole.
 */
export function wrapText(text: string, columns: number | undefined): string {
  if (columns === undefined || columns < minColumns) return text;
  return text
    .split("\n")
    .map((line) => (stringWidth(line) > columns ? wrapLine(line, columns) : line))
    .join("\n");
}

/** Narrower terminals wrap as they do. */
const minColumns = 40;

/** As `quoteArgument` writes it. */
const quoted = String.raw`'(?:'\\''|[^'])*'`;

/** After a colon, up to the end of its sentence. */
const command = `(?<=: )draftsync(?: (?:${quoted}|[^ '])+(?<![.,;]))+`;

/** A word, an argument or a command, with the blank after it. Every character of a line is in one. */
const unbroken = new RegExp(`(?:\`[^\`]*\`|(?<![^ \`])${quoted}|${command}| {2,}|[^ ])+ ?|^ `, "g");

function wrapLine(line: string, columns: number): string {
  const indent = `${/^ */.exec(line)?.[0] ?? ""}  `;
  const lines: string[] = [];
  let current = "";
  for (const [word] of line.matchAll(unbroken)) {
    const isFull = current.trim() !== "" && stringWidth(current) + stringWidth(word.trimEnd()) > columns;
    if (isFull) lines.push(current.trimEnd());
    current = isFull ? `${indent}${word}` : `${current}${word}`;
  }
  return [...lines, current].join("\n");
}

/** What a path looks like, and the pair's path as docs/reference/interface.md writes it. */
const routes: readonly (readonly [RegExp, string])[] = [
  [/^\/api\/drafts\/[^/]+\/(product_files|promotional_files)$/, "/api/drafts/:draft_id/$1"],
  [/^\/api\/drafts\/[^/]+\/(product_files|promotional_files)\/[^/]+$/, "/api/drafts/:draft_id/$1/:id"],
  [/^\/api\/uploads$/, "/api/uploads"],
  [/^\/api\/uploads\/credentials$/, "/api/uploads/credentials"],
  [/^\/api\/uploads\/[^/]+$/, "/api/uploads/:id"],
  [/^\/api\/products$/, "/api/products"],
  [/^\/api\/products\/[^/]+$/, "/api/products/:id"],
  [/^\/api\/products\/[^/]+\/duplicate$/, "/api/products/:id/duplicate"],
];

/** The route of a request's path, without its ids and its query: one of a few texts, `other` for a path that is none. */
export function routeOf(path: string): string {
  const [bare = ""] = path.split("?");
  for (const [shape, route] of routes) {
    if (shape.test(bare)) return bare.replace(shape, route);
  }
  return "other";
}
