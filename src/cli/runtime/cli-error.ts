import type { Diagnostic } from "../../model/diagnostic.ts";
import { DraftsyncError } from "../../model/errors.ts";

/** A command with invalid flags, environment, config or input files. */
export class CliError extends DraftsyncError {
  override readonly name = "CliError";
}

/** An interrupt that came before anything was changed; `doing` follows "interrupted while". */
export function interruptedWhile(doing: string): CliError {
  return new CliError(`interrupted while ${doing}; nothing was changed`, { code: "aborted" });
}

/** Mistakes in the user's files, all of them. */
export class DiagnosticsError extends DraftsyncError {
  override readonly name = "DiagnosticsError";
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    const errors = diagnostics.filter(({ severity }) => severity === "error").length;
    super(`${errors} ${errors === 1 ? "error" : "errors"}; nothing was changed`, { code: "invalid-input" });
    this.diagnostics = diagnostics;
  }
}
