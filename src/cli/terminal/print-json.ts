import { sanitizeJson } from "../../model/sanitize-json.ts";
import type { Cli } from "../cli.ts";

/** Writes a result as {@link formatJson} has it. */
export function printJson({ terminal }: Cli, value: unknown): void {
  terminal.out(formatJson(value));
}

/** Indented JSON, in which no text takes effect on a terminal. */
export function formatJson(value: unknown): string {
  return `${sanitizeJson(value, 2)}\n`;
}
