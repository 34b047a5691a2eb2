import stringWidth from "fast-string-width";
import type { Diagnostic, ExcerptLine, Severity } from "../model/diagnostic.ts";
import type { DraftsyncError } from "../model/errors.ts";
import { formatLocation } from "../model/source-location.ts";
import { makePalette, type Palette } from "./palette.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/**
 * Diagnostics as the command line prints them, one block each, without a final line feed; `paint` adds colors:
 *
 * ```
 * error: file_id must be a plain number  [id-quoted]
 *   --> drafts/dragon.yaml:12:14
 *    |
 * 12 |   - file_id: "9900011"
 *    |              ^^^^^^^^^
 *   hint: write it without quotes: 9900011
 * ```
 */
export function formatDiagnostics(diagnostics: readonly Diagnostic[], paint = makePalette(false)): string {
  return diagnostics.map((diagnostic) => formatDiagnostic(diagnostic, paint)).join("\n\n");
}

/** An error that ended a command, in the form of a diagnostic. */
export function formatError(error: DraftsyncError, paint: Palette): string {
  const { message, code, details, hint, place, request } = error;
  const where =
    request === undefined
      ? ""
      : `\n  ${paint("muted", "-->")} ${sanitizeLine(`${request.method} ${request.url}`)}`;
  const diagnostic = { severity: "error", code, message, ...(place === undefined ? {} : { place }) } as const;
  const lines = details.map((line) => `\n  ${sanitizeLine(line)}`).join("");
  const text = `${formatDiagnostic(diagnostic, paint)}${where}${lines}`;
  return hint === undefined ? text : `${text}\n${hintLine(hint, paint)}`;
}

function formatDiagnostic(diagnostic: Diagnostic, paint: Palette): string {
  const { severity, code, message, place, address, excerpt = [], hint } = diagnostic;
  const lines = [
    `${paint(severity, `${labels[severity]}:`)} ${sanitizeLine(message)}  ${paint("muted", `[${code}]`)}`,
  ];
  if (place !== undefined) lines.push(`  ${paint("muted", "-->")} ${sanitizeLine(formatLocation(place))}`);
  else if (address !== undefined && !message.includes(address))
    lines.push(`  ${paint("muted", "-->")} ${sanitizeLine(address)}`);
  lines.push(...formatExcerpt(excerpt, paint));
  if (hint !== undefined) lines.push(hintLine(hint, paint));
  return lines.join("\n");
}

const labels: Readonly<Record<Severity, string>> = { error: "error", warning: "warning", info: "note" };

function hintLine(hint: string, paint: Palette): string {
  return `  ${paint("info", "hint:")} ${sanitizeLine(hint)}`;
}

function formatExcerpt(excerpt: readonly ExcerptLine[], paint: Palette): string[] {
  if (excerpt.length === 0) return [];
  const width = Math.max(...excerpt.map(({ line }) => String(line).length));
  const bar = paint("muted", "|");
  const lines = [`${" ".repeat(width)} ${bar}`];
  for (const { line, text, mark } of excerpt) {
    lines.push(`${paint("muted", String(line).padStart(width))} ${bar} ${sanitizeLine(text)}`);
    if (mark === undefined) continue;
    // Measured on what is shown, in columns: inert text is longer, and some characters are two columns wide.
    const lead = " ".repeat(stringWidth(sanitizeLine(text.slice(0, mark.column - 1))));
    const marked = sanitizeLine(text.slice(mark.column - 1, mark.column - 1 + mark.length));
    const length = Math.max(1, stringWidth(marked));
    lines.push(`${" ".repeat(width)} ${bar} ${lead}${paint("error", "^".repeat(length))}`);
  }
  return lines;
}
