/**
 * draftsync as a library: the same parts that the command line is put together from.
 *
 * ```ts
 * const loaded = await loadManifests({ root, patterns: ["manifests/**\/*.{yaml,yml}"], sources: "hash" });
 * if (!loaded.ok) throw new Error(`${loaded.diagnostics.length} mistakes in the manifests`);
 * const { desired, diagnostics } = loaded;
 * const ledger = await openLedger({ location: `${root}/.draftsync/state.db`, clock: systemClock });
 * const lease = await ledger.acquireLock({ holder: { user, host, pid: process.pid, command: "sync" } });
 * const recorded = await ledger.load();
 * const plan = buildPlan({ workspace: "shop", serviceOrigin: baseUrl, desired, recorded, rate, profile, diagnostics });
 * const refusals = checkSafety(plan, recorded, { maxDeletes: { percent: 30, above: 10 }, removedDrafts: "refuse" });
 * const service = openService({ baseUrl, apiKey, rate, concurrency: 8, timeoutMs: 30_000, profile, clock, emit, root });
 * const result = await applyPlan({ plan, ledger, service, storage: service.storage, clock, emit, signal, outcomes, ... });
 * await lease.release();
 * ```
 *
 * @module
 */
export { type ApplyOptions, type ApplyResult, applyPlan } from "./apply/apply-plan.ts";
export { type LostRecord, OutcomesNotRecordedError } from "./apply/unrecorded.ts";
export type { LedgerReader } from "./ledger/ledger-reader.ts";
export { openLedger, openLedgerReader, type StateStore } from "./ledger/open-ledger.ts";
export { makeTracker, RecoveryLog } from "./ledger/recovery-log.ts";
export { parseRecoveryRecords, RecoveryError } from "./ledger/recovery-record.ts";
export { type LoadedManifests, type LoadManifestsOptions, loadManifests } from "./manifest/load-manifests.ts";
export type { Action } from "./model/action.ts";
export type { Change } from "./model/change.ts";
export type { Desired } from "./model/desired.ts";
export { type Diagnostic, hasErrors } from "./model/diagnostic.ts";
export { DraftsyncError } from "./model/errors.ts";
export type { Event, EventSink, RunTotals } from "./model/event.ts";
export type { HeldLock, Lease, LockHolder, LockRequest } from "./model/lock.ts";
export type { Plan } from "./model/plan.ts";
export {
  type Clock,
  type DraftService,
  type Interrupts,
  type Ledger,
  type ObjectStorage,
  systemClock,
} from "./model/ports.ts";
export type { RateStore } from "./model/rate.ts";
export type { Recorded } from "./model/recorded.ts";
export type {
  ConflictChoice,
  OutcomeTracker,
  RecoveryRecord,
  ReplayResult,
  UnrecordedOutcome,
} from "./model/recovery.ts";
export { buildPlan, type PlanInput } from "./plan/build-plan.ts";
export { checkSafety, type SafetyLimits } from "./plan/safety.ts";
export { assertFresh, formatPlanFile, parsePlanFile } from "./plan/saved-plan.ts";
export { openService, type Service, type ServiceOptions } from "./service/open-service.ts";
export { type ServiceProfile, serviceProfileSchema } from "./service/profile.ts";
