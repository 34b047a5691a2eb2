import { compareText, parseAddress, quoteArgument } from "../model/address.ts";
import { type Change, detaches, draftOf, isBlocked, isProtectChange } from "../model/change.ts";
import { attachmentsByAddress, type Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Observed } from "../model/observed.ts";
import type { Recorded } from "../model/recorded.ts";
import { withoutEmpty } from "../model/resource.ts";
import { type Differences, makeUnmanagedTest } from "./differences.ts";

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
  // For a doubt that a person settles, in a list that is not managed, only the publish waits.
  const isFile = (change: Change) =>
    parseAddress(change.address)?.type === "attachment" && !isBlocked(change);
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

/** Whether a change has the same end however a doubt about another file of its draft is settled. */
function isIndependent(change: Change): boolean {
  if (change.action === "in_doubt") return !change.check_only;
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
  const held = new Set(attachments.map(({ address }) => address));
  const waiting = [...keptValues]
    .map(([address, values]) => [address, Object.keys(withoutEmpty(values))] as const)
    .filter(([address, names]) => names.length > 0 && !entries.has(address) && !held.has(address))
    .sort(([a], [b]) => compareText(a, b));
  const reasons = [
    ...leftOver.map(({ address, formerAddress }) => ({
      address,
      until: `${address} is detached or named: ${formerAddress} lost it in an unfinished run, and its list is left out by now`,
      hint: "Put the list back, and apply. Or leave the file attached:",
    })),
    ...waiting.map(([address, names]) => ({
      address,
      until: `${address} has a file again: an unfinished run gave its file to another entry, and no manifest has this one any more`,
      hint: `Put the entry back, and apply. Or give it up with its values (${names.join(", ")}):`,
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
