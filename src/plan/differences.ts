import type { Change } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";

/** What one kind of resource contributes to a plan. */
export interface Differences {
  readonly changes: readonly Change[];
  /** Addresses that are as desired. */
  readonly unchanged: readonly string[];
  /** Addresses of recorded files whose draft is declared without their list: they stay. */
  readonly unmanaged?: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Several contributions as one. */
export function mergeDifferences(parts: readonly Differences[]): Differences {
  return {
    changes: parts.flatMap((part) => part.changes),
    unchanged: parts.flatMap((part) => part.unchanged),
    unmanaged: parts.flatMap((part) => part.unmanaged ?? []),
    diagnostics: parts.flatMap((part) => part.diagnostics),
  };
}
