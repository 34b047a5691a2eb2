import type { LedgerReader } from "../../ledger/ledger-reader.ts";
import type { Diagnostic } from "../../model/diagnostic.ts";
import type { Drift } from "../../model/drift.ts";
import type { RefreshMode, RefreshSummary } from "../../model/observed.ts";
import type { Recorded } from "../../model/recorded.ts";
import { countUnchecked } from "../../refresh/select-targets.ts";
import { type DriftReport, makeDriftReport } from "../../report/drift-report.ts";
import { plural } from "../../report/quantities.ts";
import { CliError } from "./cli-error.ts";
import { makePlan, type PlanRequest } from "./planning.ts";
import type { Workspace } from "./workspace.ts";

/** What is compared, and how much of it. */
export interface DriftRequest extends Omit<PlanRequest, "refresh" | "underLock"> {
  readonly refresh: RefreshMode;
}

/** Recorded against observed. */
export interface ComparedState {
  readonly report: DriftReport;
  readonly recorded: Recorded;
  /** A warning for each resource that could not be read. */
  readonly unreadable: readonly Diagnostic[];
}

/** Reads the service and compares it with the ledger. Changes neither. Throws what `makePlan` throws. */
export async function compareWithService(
  workspace: Workspace,
  request: DriftRequest,
): Promise<ComparedState> {
  const { plan, recorded } = await makePlan(workspace, request);
  const { workspace: name, service_origin, refresh, drift = [], diagnostics } = plan;
  if (refresh === undefined) throw new TypeError("a refreshed plan has a summary of the refresh");
  const own = await ownCalls(await workspace.reader(), drift);
  return {
    report: makeDriftReport({ workspace: name, service_origin, refresh }, drift, own),
    recorded,
    unreadable: diagnostics.filter(({ code }) => code === "not-readable"),
  };
}

/** A report that nothing was compared for would read like "no drift". Throws {@link CliError} `nothing-checked`. */
export function assertCompared({ report, recorded }: ComparedState): void {
  if (report.drift.length > 0) return;
  const { checked, unreadable, not_checked, attachments }: RefreshSummary = report.refresh;
  const refused = (reason: string, hint: string) =>
    new CliError(`drift checked nothing: ${reason}`, { code: "nothing-checked", hint });
  if (recorded.attachments.length + recorded.publications.length + recorded.duplicates.length === 0) {
    throw refused(
      "the ledger records nothing to compare",
      "Run `draftsync apply` first, or adopt existing files with `draftsync import --all`.",
    );
  }
  if (checked > 0 && not_checked < countUnchecked(recorded, [], {})) return;
  if (unreadable > 0) {
    throw refused("the service could not be read", "Fix what the warning above reports, then run it again.");
  }
  const left = `${plural(not_checked, "resource")} recorded`;
  if (attachments === "none") {
    throw refused(
      `${left}, and files are checked only by probe`,
      "Run `draftsync drift --probe`, or set `refresh: { attachments: probe }` in draftsync.yaml.",
    );
  }
  throw refused(
    `${left}, none due within refresh.max_age and refresh.max_calls`,
    "Run `draftsync drift --refresh full` to check all of them.",
  );
}

async function ownCalls(ledger: LedgerReader, drift: readonly Drift[]) {
  if (drift.length === 0) return { operations: [], runs: [] };
  const addresses = new Set(drift.map(({ address }) => address));
  const operations = await ledger.operations();
  return {
    operations: operations.filter(({ address }) => addresses.has(address)),
    runs: await ledger.runs(),
  };
}
