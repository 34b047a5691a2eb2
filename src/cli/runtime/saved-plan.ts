import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { LedgerReader } from "../../ledger/ledger-reader.ts";
import { quoteArgument } from "../../model/address.ts";
import { messageOf } from "../../model/errors.ts";
import type { StoredRun } from "../../model/history.ts";
import type { Plan } from "../../model/plan.ts";
import type { Recorded } from "../../model/recorded.ts";
import { readFormer } from "../../model/replace-file.ts";
import { isoTime, minuteText } from "../../model/time.ts";
import type { PlanHistory } from "../../plan/resume.ts";
import type { FreshPlan } from "../../plan/saved-plan.ts";
import {
  assertDeclared,
  assertFresh,
  draftsOf,
  formatPlanFile,
  parsePlanFile,
} from "../../plan/saved-plan.ts";
import { plural } from "../../report/quantities.ts";
import type { Cli } from "../cli.ts";
import { CliError } from "./cli-error.ts";
import { readGiven } from "./input-files.ts";
import { loadDesired } from "./manifests.ts";
import type { Workspace } from "./workspace.ts";

/** Saves a plan. Throws {@link CliError} `plan-not-saved`, also for a file with other content, such as a manifest. */
export async function savePlan({ terminal, cwd }: Cli, plan: Plan, out: string): Promise<void> {
  const file = resolve(cwd, out);
  const former = await readFormer(file);
  if (former !== "" && !/^\{\s*"format_version":/.test(former)) {
    throw new CliError(`${out} is there already, and is no saved plan; it was left as it is`, {
      code: "plan-not-saved",
      hint: "Name another file, or remove this one.",
    });
  }
  try {
    await writeFile(file, formatPlanFile(plan), { mode: 0o600 });
  } catch (error) {
    throw new CliError(`the plan cannot be saved: ${messageOf(error)}`, {
      code: "plan-not-saved",
      hint: "Name a file in a writable folder.",
      cause: error,
    });
  }
  terminal.err(`Saved. To apply exactly this plan: draftsync apply ${quoteArgument(out)}\n`);
}

/** Reads a saved plan. Throws {@link CliError} `plan-missing`, and what `parsePlanFile` throws. */
export async function loadSavedPlan({ cwd }: Cli, file: string): Promise<Plan> {
  const bytes = await readGiven(resolve(cwd, file), {
    what: "the saved plan",
    code: "plan-missing",
    hint: "Write one with `draftsync plan --out FILE`.",
  });
  return parsePlanFile(bytes.toString("utf8"), file);
}

/** A plan that is not stale: what is left of it, and the current records. */
export interface CheckedPlan extends FreshPlan {
  readonly recorded: Recorded;
  /** The last run that applied a part of the plan; absent when none did. */
  readonly lastRun: StoredRun | undefined;
}

/**
 * Checks a plan against the current ledger, manifests and local files. Throws what {@link checkPlan}, `assertDeclared` and
 * `loadDesired` throw.
 */
export async function checkSavedPlan(workspace: Workspace, plan: Plan): Promise<CheckedPlan> {
  const checked = await checkPlan(workspace, plan);
  if (checked.plan.changes.length === 0) return checked;
  const { desired } = await loadDesired(workspace.cli, workspace.config, draftsOf(plan));
  assertDeclared(plan, desired);
  return checked;
}

/** Checks a plan against the current ledger. Throws what `assertFresh` throws. */
export async function checkPlan({ ledger, owner }: Workspace, plan: Plan): Promise<CheckedPlan> {
  const store = await ledger();
  const recorded = await store.load();
  const runs = await store.runs({ planId: plan.plan_id });
  const history = await loadHistory(store, runs);
  const fresh = assertFresh(plan, {
    recorded,
    serviceOrigin: owner.origin,
    workspace: owner.workspace,
    history,
  });
  return { ...fresh, recorded, lastRun: runs.at(-1) };
}

async function loadHistory(store: LedgerReader, runs: readonly StoredRun[]): Promise<PlanHistory> {
  const runIds = new Set(runs.map(({ id }) => id));
  const operations = await Promise.all(runs.map(({ id }) => store.operations({ runId: id })));
  return { runIds, operations: operations.flat() };
}

/** What was done since a plan was made, by it or by others when it has no changes, in a sentence; `undefined` when nothing was. */
export function describeProgress({ plan, recorded, done, lastRun }: CheckedPlan): string | undefined {
  if (plan.changes.length === 0 && done === 0 && recorded.serial !== plan.base.serial)
    return "Nothing to do: this plan has no changes. The ledger has changed since: `draftsync plan` shows what is due now.";
  if (lastRun === undefined || done === 0) return undefined;
  const at = `${minuteText(isoTime(lastRun.startedAt))}, run ${lastRun.id.slice(0, 8)}`;
  return plan.changes.length === 0
    ? `Nothing to do: this plan was applied completely (${at}).`
    : `Continuing this plan: ${plural(done, "change")} already applied (${at}), ${plan.changes.length} left.`;
}
