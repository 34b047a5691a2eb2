import { type Change, detaches, draftOf, isDeletion, isProtectChange } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { append } from "../model/lists.ts";
import { keepCommand, type Plan, type RemovedDraft } from "../model/plan.ts";
import type { Recorded } from "../model/recorded.ts";
import { applyDrift } from "./apply-drift.ts";

/** What a plan may do without being asked twice. */
export interface SafetyLimits {
  /** Deletions are refused when they are more than `above` and more than `percent` % of the recorded attachments. */
  readonly maxDeletes: { readonly percent: number; readonly above: number };
  /** Whether files of drafts that are no longer declared may be deleted, and such duplicates be forgotten. */
  readonly removedDrafts: "refuse" | "delete";
}

/**
 * Why a plan may not be applied; empty when it may. Every refusal states its numbers and what overrides it. Files that
 * are gone already do not count as recorded: what is left of them is what can be lost.
 * To be checked before the first write.
 */
export function checkSafety(plan: Plan, recorded: Recorded, limits: SafetyLimits): Diagnostic[] {
  const known = applyDrift(recorded, plan.drift ?? []);
  return [
    ...checkGone(plan, recorded, limits),
    ...checkRemoved(plan, limits),
    ...checkForgotten(plan, limits),
    ...checkProtection(plan, known),
    ...checkDeletes(plan, known, limits),
  ];
}

function checkDeletes(plan: Plan, recorded: Recorded, { maxDeletes }: SafetyLimits): Diagnostic[] {
  const deletes = plan.changes.filter(isDeletion).length;
  const { total, percent, isTooMany } = shareOf(deletes, recorded, maxDeletes);
  if (!isTooMany) return [];
  return [
    {
      severity: "error",
      code: "too-many-deletes",
      message:
        `the plan detaches ${deletes} of ${total} recorded files (${percent.toFixed(1)} %); ` +
        `more than ${maxDeletes.above} are only detached up to ${maxDeletes.percent} %`,
      hint: `If this is meant, run apply with --max-deletes ${Math.ceil(percent)}, or raise safety.max_deletes in draftsync.yaml.`,
    },
  ];
}

/** Files that are gone all at once: more often the wrong account or a gateway that knows no such path than a person. */
function checkGone({ drift = [] }: Plan, recorded: Recorded, { maxDeletes }: SafetyLimits): Diagnostic[] {
  const gone = drift.filter(({ type }) => type === "gone").length;
  const { total, percent, isTooMany } = shareOf(gone, recorded, maxDeletes);
  if (!isTooMany) return [];
  return [
    {
      severity: "error",
      code: "too-many-gone",
      message:
        `the service says that ${gone} of ${total} recorded files are not attached any more (${percent.toFixed(1)} %); ` +
        `more than ${maxDeletes.above} are only believed up to ${maxDeletes.percent} %`,
      hint: `See that service.base_url and the key are those of this workspace. If the files are gone indeed, run apply with --max-deletes ${Math.ceil(percent)}; --refresh none goes by the ledger.`,
    },
  ];
}

/** How much of what is recorded so many files are, and whether that is more than may be lost at once. */
function shareOf(
  count: number,
  { attachments }: Recorded,
  { above, percent: most }: SafetyLimits["maxDeletes"],
) {
  const total = attachments.length;
  const percent = total === 0 ? 0 : (100 * count) / total;
  return { total, percent, isTooMany: count > above && percent > most };
}

/** A draft that disappeared is more often a wrong path or a lost file than a wish, so its deletes need consent. */
function checkRemoved({ removed_drafts: removed }: Plan, { removedDrafts }: SafetyLimits): Diagnostic[] {
  if (removedDrafts === "delete" || removed.length === 0) return [];
  return [
    {
      severity: "error",
      code: "removed-drafts",
      message: `${describeRemoved(removed)}; deleting their files needs consent`,
      hint: `If this is meant, run apply with --remove-drafts, or apply a saved plan. To keep the files and stop managing them: ${keepCommand(removed)}`,
    },
  ];
}

/** A duplicate that is forgotten by mistake is made a second time when its entry is back, which cannot be undone. */
function checkForgotten({ changes }: Plan, { removedDrafts }: SafetyLimits): Diagnostic[] {
  const forgotten = changes.filter(({ action }) => action === "forget");
  if (removedDrafts === "delete" || forgotten.length === 0) return [];
  return [
    {
      severity: "error",
      code: "removed-duplicates",
      message: `${describeForgotten(forgotten)} no longer declared; forgetting them needs consent`,
      hint: "Restore the entries. If one was renamed: `draftsync state mv`. If they are to be forgotten, run apply with --remove-drafts, or apply a saved plan.",
    },
  ];
}

/** `2 drafts are no longer declared: drafts/2, drafts/3`; of many, the first three are named. */
export function describeRemoved(removed: readonly RemovedDraft[]): string {
  const names = removed.slice(0, 3).map(({ address }) => address);
  const more = removed.length > names.length ? ` and ${removed.length - names.length} more` : "";
  const drafts = removed.length === 1 ? "1 draft is" : `${removed.length} drafts are`;
  return `${drafts} no longer declared: ${names.join(", ")}${more}`;
}

/** `duplicates/a and 2 more are`, of at least one. */
export function describeForgotten([first, ...others]: readonly Change[]): string {
  return `${first?.address}${others.length === 0 ? " is" : ` and ${others.length} more are`}`;
}

function checkProtection(plan: Plan, recorded: Recorded): Diagnostic[] {
  const protectedDrafts = new Set(recorded.protectedDrafts);
  for (const change of plan.changes) {
    if (isProtectChange(change) && change.after.protect) protectedDrafts.add(draftOf(change));
  }
  const removed = new Set(plan.removed_drafts.map(({ address }) => address));
  const byDraft = new Map<number, Change[]>();
  for (const change of plan.changes) {
    const draftId = draftOf(change);
    if (detaches(change) && protectedDrafts.has(draftId)) append(byDraft, draftId, change);
  }
  return [...byDraft].map(([draftId, [first, ...others]]) => ({
    severity: "error",
    code: "draft-protected",
    message: `draft ${draftId} is protected: ${first?.action === "replace" ? "the recorded file of " : ""}${first?.address}${others.length === 0 ? "" : ` (and ${others.length} more)`} may not be detached`,
    hint: removed.has(`drafts/${draftId}`)
      ? `Its document is gone. To keep the files and stop managing them: draftsync state rm drafts/${draftId}. To delete them, restore the document without \`protect: true\`, apply that, and then remove it.`
      : `To allow it, take \`protect: true\` out of the draft's document, apply that, and then apply the deletion.`,
    address: first?.address ?? `drafts/${draftId}`,
  }));
}
