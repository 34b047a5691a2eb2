import { compareText, parseAddress, quoteArgument } from "../model/address.ts";
import { type Change, draftOf, isDeletion, isProtectChange } from "../model/change.ts";
import { attachmentsByAddress, type Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { append } from "../model/lists.ts";
import type { Observed } from "../model/observed.ts";
import type { Plan, RemovedDraft } from "../model/plan.ts";
import type { Recorded } from "../model/recorded.ts";
import type { Attributes } from "../model/resource.ts";
import { applyDrift } from "./apply-drift.ts";
import { type Differences, makeUnmanagedTest } from "./differences.ts";

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
      hint: `If this is meant, run apply with --remove-drafts, or apply a saved plan. To keep the files and stop managing them: draftsync state rm ${removed[0]?.address}`,
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

/**
 * Lifting a draft's protection has to be applied before a deletion can be: the plan that lifts it leaves the deletions to the next
 * one, with what has to come after them.
 */
export function excludeUnprotected(all: Differences): Differences {
  const detached = new Set(all.changes.filter(detaches).map(draftOf));
  const lifted = all.changes
    .filter((change) => isProtectChange(change) && !change.after.protect)
    .map(draftOf);
  return leaveToNextPlan(all, {
    drafts: new Set(lifted.filter((draftId) => detached.has(draftId))),
    waits: detaches,
    warn: (draftId, count) => ({
      code: "deletes-excluded",
      message: `draft ${draftId} is still protected in the ledger: ${count} until the protection is lifted`,
      hint: "Apply this plan, then plan again.",
    }),
  });
}

/**
 * What a draft with a file in doubt needs depends on how that is settled, so other changes of its files wait for the next plan,
 * and its publish with them. Unless every file in doubt will be attached, whatever is found, and the others only attach,
 * update and adopt further files. With `desired`, the warning says of a draft that no document declares it.
 */
export function excludeUnsettled(all: Differences, desired?: Desired): Differences {
  const isFile = (change: Change) =>
    parseAddress(change.address)?.type === "attachment" && !isUnmanagedDoubt(change);
  const doubts = all.changes.filter((change) => change.action === "in_doubt" && isFile(change));
  if (doubts.length === 0) return all;
  const files = all.changes.filter(isFile);
  // Of several, the one with the first address is set last, and named.
  const first = new Map(
    doubts
      .sort((a, b) => compareText(b.address, a.address))
      .map((change) => [draftOf(change), change.address]),
  );
  const dependent = files.filter((change) => !isIndependent(change)).map(draftOf);
  const attachments = new Set<Change>(files);
  const declared = desired && new Set(desired.drafts.map(({ draftId }) => draftId));
  const nameOf = (draftId: number) =>
    declared?.has(draftId) === false ? `draft ${draftId}, which is no longer declared` : `draft ${draftId}`;
  return leaveToNextPlan(all, {
    drafts: new Set(dependent.filter((draftId) => first.has(draftId))),
    waits: (change) => attachments.has(change) && change.action !== "in_doubt",
    warn: (draftId, count) => ({
      code: "waits-for-doubt",
      message: `${nameOf(draftId)}: ${count} until ${first.get(draftId)} is no longer in doubt`,
      hint: "Apply this plan, then plan and apply again.",
    }),
  });
}

/** Whether a doubt is about a file of a list that is not managed: only a publish waits for it, and a person settles it. */
function isUnmanagedDoubt(change: Change): boolean {
  return change.action === "in_doubt" && change.after === null && change.before.kind !== "attach";
}

/** Whether a change has the same end however a doubt about another file of its draft is settled. */
function isIndependent(change: Change): boolean {
  if (change.action === "in_doubt") return change.after !== null && !change.check_only;
  return change.action === "create" || change.action === "update" || change.action === "adopt";
}

/** A draft whose files were to be checked, and could not be read, is not published: they may not be as recorded. */
export function excludeUnread(all: Differences, { unreadable = [] }: Partial<Observed> = {}): Differences {
  const files = unreadable.filter(({ address }) => parseAddress(address)?.type === "attachment");
  return leaveToNextPlan(all, {
    drafts: new Set(files.map(draftOf)),
    waits: () => false,
    warn: (draftId, count) => ({
      code: "waits-for-check",
      message: `draft ${draftId}: ${count} until its files can be read`,
      hint: "Run the command again. To go by what is recorded: --refresh none.",
    }),
  });
}

/**
 * What an unfinished run left behind, and no change ends any more, would be published: a file that its entry has another one for, in a
 * list that is left out by now; and an entry whose file another one has, and whose values only the ledger has, in no manifest.
 */
export function excludeIncomplete(
  all: Differences,
  { desired, recorded }: { readonly desired: Desired; readonly recorded: Recorded },
): Differences {
  const { attachments, keptValues } = recorded;
  const former = attachments.filter(
    (each) => each.formerAddress !== undefined && each.replacedBy === undefined,
  );
  if (former.length === 0 && keptValues.size === 0) return all;
  const leftOver = former
    .filter(makeUnmanagedTest(desired))
    .sort((a, b) => compareText(a.address, b.address));
  const entries = attachmentsByAddress(desired);
  const waiting = [...keptValues]
    .filter(([address]) => !entries.has(address))
    .sort(([a], [b]) => compareText(a, b));
  const reasons = [
    ...leftOver.map(({ address, formerAddress }) => ({
      address,
      until: `${address} is detached: ${formerAddress} has another file since an unfinished run, and its list is left out by now`,
      hint: "Put the list back, and apply. Or leave the file attached:",
    })),
    ...waiting.map(([address, values]) => ({
      address,
      until: `${address} has a file again: an unfinished run gave its file to another entry, and no manifest has this one any more`,
      hint: `Put the entry back, and apply. Or give it up with its values${describeNames(values)}:`,
    })),
  ];
  // Of several, the last is named: to put an entry back ends what is left of its file, too.
  const named = new Map(reasons.map((each) => [draftOf(each), each]));
  return leaveToNextPlan(all, {
    drafts: new Set(named.keys()),
    waits: () => false,
    warn: (draftId, count) => {
      const { address = "", until, hint } = named.get(draftId) ?? {};
      return {
        code: "waits-for-entry",
        message: `draft ${draftId}: ${count} until ${until}`,
        hint: `${hint} draftsync state rm ${quoteArgument(address)}`,
      };
    },
  });
}

function describeNames(values: Attributes): string {
  const names = Object.keys(values);
  return names.length === 0 ? "" : ` (${names.join(", ")})`;
}

interface Waiting {
  readonly drafts: ReadonlySet<number>;
  /** Which changes of their files wait. */
  readonly waits: (change: Change) => boolean;
  readonly warn: (draftId: number, count: string) => Pick<Diagnostic, "code" | "message" | "hint">;
}

/** Leaves out changes of some drafts, what publishes them, and what copies that, with a warning for each draft. */
function leaveToNextPlan(all: Differences, { drafts, waits, warn }: Waiting): Differences {
  if (drafts.size === 0) return all;
  const publishes = new Set(all.changes.filter(({ action }) => action === "publish").map(draftOf));
  const counts = new Map([...drafts].map((draftId) => [draftId, 0]));
  const changes = all.changes.filter((change) => {
    const draftId = waits(change) ? draftOf(change) : publishedDraftOf(change, publishes);
    const count = draftId === undefined ? undefined : counts.get(draftId);
    if (draftId === undefined || count === undefined) return true;
    counts.set(draftId, count + 1);
    return false;
  });
  const warnings = [...counts]
    .filter(([, count]) => count > 0)
    .map(
      ([draftId, count]): Diagnostic => ({
        severity: "warning",
        ...warn(draftId, waiting(count)),
        address: `drafts/${draftId}`,
      }),
    );
  return { ...all, changes, diagnostics: [...all.diagnostics, ...warnings] };
}

function waiting(count: number): string {
  return count === 1 ? "1 change waits" : `${count} changes wait`;
}

/** One for each draft that may have changes that only the next plan can have. */
export function waitingDrafts({ diagnostics }: Pick<Plan, "diagnostics">): readonly Diagnostic[] {
  return diagnostics.filter(({ code }) => waitingCodes.has(code));
}

const waitingCodes: ReadonlySet<string> = new Set([
  "waits-for-doubt",
  "deletes-excluded",
  "waits-for-check",
  "waits-for-entry",
]);

/** Whether other changes of the draft may wait until this one is applied. */
export function isWaitedFor(change: Change): boolean {
  return change.action === "in_doubt" || isProtectChange(change);
}

/** The draft that a change publishes, or whose product it copies; `publishes` are the drafts that are published. */
function publishedDraftOf(change: Change, publishes: ReadonlySet<number>): number | undefined {
  if (change.action === "publish") return draftOf(change);
  if (change.action !== "duplicate" || change.after.product_id !== undefined) return undefined;
  const { draft_id: draftId } = change.after;
  return draftId !== undefined && publishes.has(draftId) ? draftId : undefined;
}

/** Whether a change takes a file off a draft whose place no attached file has taken. */
function detaches(change: Change): boolean {
  return isDeletion(change) || change.action === "replace";
}
