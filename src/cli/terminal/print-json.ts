import { sanitizeJson } from "../../model/sanitize-json.ts";
import type { Cli } from "../cli.ts";

/** Writes a result as indented JSON, in which no text takes effect on a terminal. */
export function printJson({ terminal }: Cli, value: unknown): void {
  terminal.out(`${sanitizeJson(value, 2)}\n`);
}
