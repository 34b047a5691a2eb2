/**
 * draftsync as a library: docs/library.md. After the workspace come the parts that it is put together from.
 *
 * ```ts
 * const workspace = await openWorkspace({ config: "draftsync.yaml" });
 * const plan = await workspace.plan();
 * const { status } = await workspace.apply(plan, { onEvent: (event) => console.log(event.type) });
 * await workspace.close();
 * ```
 *
 * @module
 */
import type { Sandbox, SandboxOptions } from "./sandbox/server.ts";

export { applyPlan } from "./apply/apply-plan.ts";
export { DiagnosticsError } from "./cli/runtime/cli-error.ts";
export { openLedger } from "./ledger/open-ledger.ts";
export {
  type Draft,
  defineDraft,
  type Manifest,
  type ProductFile,
  type PromotionalFile,
  writeManifest,
} from "./library/manifest.ts";
export {
  type ApplyPlanOptions,
  type ApplyReport,
  type DriftOptions,
  openWorkspace,
  type PlanOptions,
  type WorkOptions,
  type Workspace,
  type WorkspaceOptions,
} from "./library/open-workspace.ts";
export { loadManifests } from "./manifest/load-manifests.ts";
export type { Change } from "./model/change.ts";
export type { Diagnostic } from "./model/diagnostic.ts";
export { DraftsyncError } from "./model/errors.ts";
export type { Event, RunTotals } from "./model/event.ts";
export type { LogEntry } from "./model/log.ts";
export type { Plan } from "./model/plan.ts";
export { systemClock } from "./model/ports.ts";
export { buildPlan } from "./plan/build-plan.ts";
export { formatPlanFile, parsePlanFile } from "./plan/saved-plan.ts";
export { formatDiagnostics } from "./report/diagnostic-text.ts";
export type { DriftReport } from "./report/drift-report.ts";
export { openService } from "./service/open-service.ts";
export { serviceProfileSchema } from "./service/profile.ts";
export type { Sandbox, SandboxOptions };

/** Starts a local copy of the service, for tests: docs/reference/sandbox.md. Throws a `SandboxError`. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await import("./sandbox/server.ts");
  return sandbox.startSandbox(options);
}
