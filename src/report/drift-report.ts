import type { Drift } from "../model/drift.ts";
import type { StoredOperation, StoredRun } from "../model/history.ts";
import type { RefreshSummary } from "../model/observed.ts";
import { isoTime } from "../model/time.ts";

/** The version of the report's JSON. */
export const driftFormatVersion = 1;

/** Recorded against observed, for scripts. */
export interface DriftReport {
  readonly format_version: typeof driftFormatVersion;
  readonly workspace: string;
  readonly service_origin: string;
  readonly refresh: RefreshSummary;
  readonly drift: readonly DriftEntry[];
}

/** A drift, and our last call for its address: somebody else made the difference after it. */
export type DriftEntry = Drift & { readonly last_call: LastCall | null };

/** A writing call of ours. The time is ISO 8601, UTC. */
export interface LastCall {
  readonly method: string;
  readonly path: string;
  readonly at: string;
  /** `unknown`: it may have been this very call that changed it. */
  readonly outcome: string;
  readonly run_id: string;
  readonly command: string;
}

/** What we know of our own calls. */
export interface OwnCalls {
  /** At the addresses that drifted, by start. */
  readonly operations: readonly StoredOperation[];
  readonly runs: readonly StoredRun[];
}

/** Puts a report together. Pure. */
export function makeDriftReport(
  head: Pick<DriftReport, "workspace" | "service_origin" | "refresh">,
  drift: readonly Drift[],
  own: OwnCalls,
): DriftReport {
  const last = new Map(own.operations.map((operation) => [operation.address, operation]));
  const commands = new Map(own.runs.map(({ id, command }) => [id, command]));
  const lastCall = (operation: StoredOperation | undefined): LastCall | null =>
    operation === undefined
      ? null
      : {
          method: operation.method,
          path: operation.path,
          at: isoTime(operation.startedAt),
          outcome: operation.settled?.as ?? operation.outcome ?? "unknown",
          run_id: operation.runId,
          command: commands.get(operation.runId) ?? "",
        };
  return {
    format_version: driftFormatVersion,
    ...head,
    drift: drift.map((item) => ({ ...item, last_call: lastCall(last.get(item.address)) })),
  };
}
