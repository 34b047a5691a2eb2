import { type Action, actions } from "../model/action.ts";
import { compareText } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Summary } from "../model/plan.ts";

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

/** How many changes of each action there are, beside `unchanged` things that are as desired. */
export function summarize(changes: readonly Change[], unchanged: number): Summary {
  const counts = new Map<Action, number>();
  for (const change of changes) counts.set(change.action, (counts.get(change.action) ?? 0) + 1);
  if (unchanged > 0) counts.set("noop", unchanged);
  return Object.fromEntries(actions.flatMap((action) => entry(action, counts.get(action))));
}

function entry(action: Action, count: number | undefined): [Action, number][] {
  return count === undefined ? [] : [[action, count]];
}

/** In the order of a plan: by weight, then by place and address. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const keyed = diagnostics.map((diagnostic) => ({ diagnostic, key: sortKey(diagnostic) }));
  return keyed.sort((a, b) => compareText(a.key, b.key)).map(({ diagnostic }) => diagnostic);
}

function sortKey({ severity, address, place, code, message }: Diagnostic): string {
  const pad = (n: number | undefined) => String(n ?? 0).padStart(9, "0");
  const rank = { error: 0, warning: 1, info: 2 }[severity];
  return [rank, place?.file ?? "", pad(place?.line), pad(place?.column), address ?? "", code, message].join(
    "\0",
  );
}
