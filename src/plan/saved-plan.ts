import { z } from "zod";
import { draftIdOf } from "../model/address.ts";
import { attachmentsByAddress, type Desired } from "../model/desired.ts";
import { messageOf } from "../model/errors.ts";
import type { Plan } from "../model/plan.ts";
import { planFormatVersion } from "../model/plan.ts";
import { noLineage, type Recorded } from "../model/recorded.ts";
import { sanitizeJson } from "../model/sanitize-json.ts";
import { waitingDrafts } from "../model/waiting.ts";
import { digestOf } from "./digest.ts";
import { PlanError } from "./ownership.ts";
import { changedDeclarations } from "./plan-basis.ts";
import { planSchema } from "./plan-schema.ts";
import { type PlanHistory, type Resumption, resumePlan } from "./resume.ts";

/** The bytes of a saved plan: indented JSON with a final newline. */
export function formatPlanFile(plan: Plan): string {
  return `${sanitizeJson(plan, 2)}\n`;
}

/**
 * Reads a saved plan back. `file` is for messages.
 * Throws {@link PlanError}: `plan-unreadable`, `plan-version` or `plan-altered`.
 */
export function parsePlanFile(bytes: string, file: string): Plan {
  const json = parseJson(bytes, file);
  const version = z.object({ format_version: z.unknown() }).safeParse(json).data?.format_version;
  if (version !== undefined && version !== planFormatVersion) {
    throw new PlanError(
      `${file} has plan format ${String(version)}; this draftsync reads ${planFormatVersion}`,
      {
        code: "plan-version",
        hint: "Make the plan again with the draftsync that is to apply it.",
      },
    );
  }
  const parsed = planSchema.safeParse(json);
  if (!parsed.success) {
    const at = parsed.error.issues[0]?.path.join(".") ?? "";
    throw new PlanError(`${file} is not a saved plan${at === "" ? "" : ` (at ${at})`}`, {
      code: "plan-unreadable",
      hint: "Write one with `draftsync plan --out FILE`.",
    });
  }
  const { plan_id, ...rest } = parsed.data;
  if (digestOf(rest) !== plan_id) {
    throw new PlanError(`${file} was altered after it was written: its content does not match its plan_id`, {
      code: "plan-altered",
      hint: "Make the plan again with `draftsync plan --out FILE`; a saved plan is never edited.",
    });
  }
  return parsed.data;
}

function parseJson(bytes: string, file: string): unknown {
  try {
    return JSON.parse(bytes);
  } catch (error) {
    throw new PlanError(`${file} is not JSON: ${messageOf(error)}`, {
      code: "plan-unreadable",
      hint: "Write a plan with `draftsync plan --out FILE`.",
      cause: error,
    });
  }
}

/** What a saved plan must still agree with before its first call. */
export interface PlanSetting {
  readonly recorded: Recorded;
  readonly serviceOrigin: string;
  readonly workspace: string;
  /** What the ledger's history knows of earlier runs of the plan. */
  readonly history: PlanHistory;
}

/** What is left of a plan that is not stale, and how many of its changes earlier runs completed. */
export type FreshPlan = Omit<Extract<Resumption, { type: "fresh" }>, "type">;

/**
 * Refuses a plan once something it is about has changed; returns what is left of it otherwise. A plan that was made
 * without a ledger fits a ledger that holds nothing yet, and the one its own runs began.
 * Throws {@link PlanError} `plan-stale` or `plan-of-another-workspace`; reports what changed and what to run.
 */
export function assertFresh(
  plan: Plan,
  { recorded, serviceOrigin, workspace, history }: PlanSetting,
): FreshPlan {
  const { lineage } = plan.base;
  if (plan.workspace !== workspace || (lineage !== noLineage && lineage !== recorded.lineage)) {
    const what = plan.workspace === workspace ? "another ledger" : `workspace ${plan.workspace}`;
    throw new PlanError(`the plan was made for ${what}, not for this one`, {
      code: "plan-of-another-workspace",
      hint,
    });
  }
  if (plan.service_origin !== serviceOrigin) {
    throw stale(`the plan was made for ${plan.service_origin}, and the config now names ${serviceOrigin}`);
  }
  if (lineage === noLineage && recorded.serial > 0 && history.runIds.size === 0) {
    throw stale("the plan was made without a ledger, and the ledger now holds records");
  }
  const resumed = resumePlan(plan, recorded, history);
  if (resumed.type === "fresh") {
    const [waiting] = resumed.plan.changes.length > 0 || resumed.done === 0 ? [] : waitingDrafts(plan);
    if (waiting === undefined) return resumed;
    throw stale(`the plan was applied, and ${waiting.address} has changes that waited for it`);
  }
  const { addresses, copied } = resumed;
  if (addresses.length > 0)
    throw stale(`what is recorded for ${someOf(addresses)} has changed since the plan was made`);
  const product = copied.length === 1 ? "the product of" : "the products of";
  throw stale(
    `${product} ${someOf(copied)} may have been copied under another name since the plan was made, which the plan would repeat`,
  );
}

/** The drafts that a plan is about, by id. */
export function draftsOf({ base }: Pick<Plan, "base">): ReadonlySet<number> {
  return new Set(base.resources.flatMap(({ address }) => draftIdOf(address) ?? []));
}

/**
 * Refuses a plan when the manifests and local files declare something else for what it is about. They may have been changed back
 * before it was applied, which changes nothing in the ledger. `desired` needs the content of the sources of {@link draftsOf}.
 * Throws {@link PlanError} `plan-source-changed` or `plan-stale`.
 */
export function assertDeclared(plan: Plan, desired: Desired): void {
  const changed = changedSources(plan, desired);
  if (changed.length > 0) {
    const files = changed.length === 1 ? "a local file" : `${changed.length} local files`;
    throw new PlanError(`${files} changed after the plan was made: ${changed.join(", ")}`, {
      code: "plan-source-changed",
      hint,
    });
  }
  const addresses = changedDeclarations(plan, desired);
  if (addresses.length === 0) return;
  throw stale(`what the manifests declare for ${someOf(addresses)} has changed since the plan was made`);
}

function changedSources({ changes }: Plan, desired: Desired): readonly string[] {
  const attachments = attachmentsByAddress(desired);
  const changed = changes.flatMap(({ address, after }) => {
    if (after === null || !("source" in after)) return [];
    const { source, sha256 } = after;
    const current = attachments.get(address)?.content?.sha256;
    const isSame = current === undefined || sha256 === undefined || current === sha256;
    return source === undefined || isSame ? [] : [source];
  });
  return [...new Set(changed)];
}

const hint = "Make the plan again with `draftsync plan --out FILE`, review it, and apply that.";

function stale(message: string): PlanError {
  return new PlanError(message, { code: "plan-stale", hint });
}

function someOf([first, ...others]: readonly string[]): string {
  return others.length === 0 ? `${first}` : `${first} (and ${others.length} more)`;
}
