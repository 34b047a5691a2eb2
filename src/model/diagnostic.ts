import type { SourceLocation } from "./source-location.ts";

/** How much a diagnostic weighs: an `error` stops the command before any call. */
export type Severity = "error" | "warning" | "info";

/** A line of the user's text, shown under a diagnostic. `mark` is the 1-based column and the length to underline. */
export interface ExcerptLine {
  readonly line: number;
  readonly text: string;
  readonly mark?: { readonly column: number; readonly length: number };
}

/**
 * Something a user should know about their own input: returned, all at once, never thrown.
 * `code` is stable and in kebab-case; `hint` says how to fix it.
 */
export interface Diagnostic {
  readonly severity: Severity;
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly address?: string;
  readonly place?: SourceLocation;
  readonly excerpt?: readonly ExcerptLine[];
}

/** Whether any of the diagnostics is an error. */
export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === "error");
}
