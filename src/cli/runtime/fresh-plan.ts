import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { LedgerReader } from "../../ledger/ledger-reader.ts";
import { hashFile } from "../../manifest/hash-file.ts";
import type { StoredRun } from "../../model/history.ts";
import type { Plan } from "../../model/plan.ts";
import type { Recorded } from "../../model/recorded.ts";
import { isoTime, minuteText } from "../../model/time.ts";
import { PlanError } from "../../plan/ownership.ts";
import type { PlanHistory } from "../../plan/plan-progress.ts";
import type { FreshPlan } from "../../plan/saved-plan.ts";
import { sourcesOf } from "../../plan/saved-plan.ts";
import { plural } from "../../report/quantities.ts";
import type { Workspace } from "./workspace.ts";

/** A plan that is not stale, beside what the ledger holds. */
export interface CheckedPlan extends FreshPlan {
  readonly recorded: Recorded;
  /** The last run that applied a part of the plan; absent when none did. */
  readonly lastRun?: StoredRun;
}

/** Checks a plan against the ledger as it is now. Throws what `assertFresh` throws. */
export async function checkPlan({ config, ledger }: Workspace, plan: Plan): Promise<CheckedPlan> {
  const { assertFresh } = await import("../../plan/saved-plan.ts");
  const store = await ledger();
  const recorded = await store.load();
  const runs = await store.runs({ planId: plan.plan_id });
  const { origin: serviceOrigin } = config.service;
  const history = await loadHistory(store, runs);
  const fresh = assertFresh(plan, { recorded, serviceOrigin, workspace: config.workspace, history });
  const lastRun = runs.at(-1);
  return { ...fresh, recorded, ...(lastRun === undefined ? {} : { lastRun }) };
}

async function loadHistory(store: LedgerReader, runs: readonly StoredRun[]): Promise<PlanHistory> {
  const runIds = new Set(runs.map(({ id }) => id));
  const operations = runIds.size === 0 ? [] : await store.operations();
  return {
    runIds,
    own: operations.filter(({ runId }) => runIds.has(runId)),
    others: operations.filter(({ runId }) => !runIds.has(runId)),
  };
}

/** What earlier runs of a plan did, in a sentence; `undefined` when there was none that did anything. */
export function describeProgress({ plan, done, lastRun }: CheckedPlan): string | undefined {
  if (lastRun === undefined || done === 0) return undefined;
  const at = `${minuteText(isoTime(lastRun.startedAt))}, run ${lastRun.id.slice(0, 8)}`;
  return plan.changes.length === 0
    ? `Nothing to do: this plan was applied completely (${at}).`
    : `Continuing this plan: ${plural(done, "change")} already applied (${at}), ${plan.changes.length} left.`;
}

/**
 * Refuses a saved plan of which a local file is no longer the one that was planned.
 * Throws {@link PlanError} `plan-source-changed`, naming every such file.
 */
export async function assertSourcesUnchanged(plan: Plan, root: string): Promise<void> {
  const changed: string[] = [];
  for (const { source, sha256 } of sourcesOf(plan)) {
    if ((await digestOfFile(join(root, source))) !== sha256) changed.push(source);
  }
  if (changed.length === 0) return;
  const files = changed.length === 1 ? "a local file" : `${changed.length} local files`;
  throw new PlanError(`${files} changed after the plan was made: ${changed.join(", ")}`, {
    code: "plan-source-changed",
    hint: "Make the plan again with `draftsync plan --out FILE`, review it, and apply that.",
  });
}

/** `undefined` when the file is gone or cannot be read, which is a change too. */
async function digestOfFile(path: string): Promise<string | undefined> {
  try {
    return (await hashFile(await realpath(path))).sha256;
  } catch {
    return undefined;
  }
}
