import { type Action, actions, actionTable } from "../model/action.ts";
import { parseAddress, quoteArgument } from "../model/address.ts";
import { type Change, isBlocked, resolveAnswers } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { append } from "../model/lists.ts";
import { keepCommand, type Plan, type Summary } from "../model/plan.ts";
import { waitingDrafts } from "../model/waiting.ts";
import { type ChangeView, type ValueView, viewChange } from "./change-view.ts";
import { type DriftView, type RefreshView, viewDrift, viewRefresh } from "./drift-view.ts";
import { formatCount, formatRate, formatSeconds, plural } from "./quantities.ts";

/** A plan as people see it; every format renders this and nothing else. Text from outside is not yet made inert. */
export interface PlanView {
  readonly planId: string;
  readonly workspace: string;
  readonly serviceOrigin: string;
  /** Recorded drafts that are no longer declared, and what applying the plan does to them; absent without any. */
  readonly removed: RemovedView | undefined;
  /** What apply leaves out because the ledger is new, in a sentence, and what includes it; absent when it leaves out nothing. */
  readonly newLedger: NewLedgerView | undefined;
  /** Recorded files that stay because their drafts leave out the list; absent without any. */
  readonly unmanaged: UnmanagedView | undefined;
  /** What differs at the service from the record. */
  readonly drift: readonly DriftView[];
  readonly groups: readonly GroupView[];
  /** Attributes that change in the same way in many files, and the exceptions. */
  readonly common: CommonValues;
  readonly counts: readonly CountView[];
  readonly unchanged: number;
  readonly cost: CostView | undefined;
  /** What was refreshed; absent when all comes from the ledger. */
  readonly refresh: RefreshView | undefined;
  /** What cannot be undone once it is done. */
  readonly irreversible: readonly {
    readonly symbol: string;
    readonly address: string;
    readonly title?: string | undefined;
    readonly does: string;
  }[];
  /** What is in doubt, and how that ends. */
  readonly doubts: readonly DoubtView[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Drafts that are no longer declared. */
export interface RemovedView {
  /** `2 drafts are no longer declared` */
  readonly headline: string;
  readonly drafts: readonly {
    readonly address: string;
    readonly title?: string | undefined;
    readonly files: string;
  }[];
  /** What applying the plan does, in a sentence. */
  readonly effect: string;
  /** The command that keeps the files. */
  readonly command: string;
}

/** The parts of a sentence: `3 recorded files` in `drafts/1/product_files`, `, which the manifests leave out`. */
export interface UnmanagedView {
  readonly files: string;
  /** The address of the first list. */
  readonly list: string;
  readonly rest: string;
}

/** What apply leaves out while no person has confirmed the ledger. */
export interface NewLedgerView {
  readonly headline: string;
  /** The beginning of the sentence that the command ends. */
  readonly effect: string;
  readonly command: string;
}

/** Something in doubt. */
export interface DoubtView {
  readonly address: string;
  readonly title?: string | undefined;
  /** How it ends, in one sentence. */
  readonly ending: string;
  /** The command that the sentence names, to stand by itself; absent when apply finds out. */
  readonly command?: string | undefined;
}

/** The changes of one draft, or all duplicates. */
export interface GroupView {
  /** `drafts/48213` or `duplicates` */
  readonly address: string;
  /** `Sea Serpent`; absent for duplicates, and for a draft without a title. */
  readonly title?: string | undefined;
  /** `manifests/sea-serpent.yaml:1` */
  readonly declaredAt?: string | undefined;
  readonly changes: readonly ChangeView[];
}

/** How many changes of one action: `3 to update`. */
export interface CountView {
  readonly action: Action;
  readonly count: number;
  readonly text: string;
}

/** What the plan will cost, in words. */
export interface CostView {
  readonly calls: string;
  readonly time: string;
  readonly rate: string;
  readonly upTo: string;
}

/** Makes the view of a plan as it is at `now`, epoch milliseconds. Pure. */
export function viewPlan(plan: Plan, now: number): PlanView {
  const { calls, seconds, rate } = plan.estimate;
  const groups = groupChanges(plan, now);
  const cost = {
    calls: plural(calls.min, "call"),
    time: `about ${formatSeconds(seconds)}`,
    rate: formatRate(rate.limit, rate.window_ms),
    upTo: plural(calls.max, "call"),
  };
  return {
    planId: plan.plan_id,
    workspace: plan.workspace,
    serviceOrigin: plan.service_origin,
    newLedger: viewNewLedger(plan),
    removed: viewRemoved(plan),
    unmanaged: viewUnmanaged(plan.unmanaged),
    drift: (plan.drift ?? []).map((item) => viewDrift(item, now)),
    groups,
    common: commonValues(groups),
    counts: countActions(plan.summary),
    unchanged: plan.summary.noop ?? 0,
    cost: calls.min === 0 ? undefined : cost,
    refresh: plan.refresh === undefined ? undefined : viewRefresh(plan.refresh, now),
    irreversible: plan.changes.flatMap(irreversible),
    doubts: plan.changes.flatMap(doubtOf),
    diagnostics: plan.diagnostics,
  };
}

function viewNewLedger({ new_ledger: isNew, summary }: Plan): NewLedgerView | undefined {
  const { publish = 0, duplicate = 0 } = summary;
  if (!isNew || publish + duplicate === 0) return undefined;
  const counts = [
    ...(publish === 0 ? [] : [publish === 1 ? "1 publish" : `${formatCount(publish)} publishes`]),
    ...(duplicate === 0 ? [] : [plural(duplicate, "duplicate")]),
  ];
  return {
    headline: `New or restored ledger: apply will leave out ${counts.join(" and ")}`,
    effect: "It may lack what was published before it or since its backup. If it lacks nothing",
    command: "draftsync apply --new-ledger",
  };
}

function viewRemoved({ removed_drafts: removed, drafts }: Plan): RemovedView | undefined {
  if (removed.length === 0) return undefined;
  const files = removed.reduce((sum, { deletes }) => sum + deletes, 0);
  const known = new Map(drafts.map((draft) => [draft.address, draft]));
  return {
    headline: `${plural(removed.length, "draft")} ${removed.length === 1 ? "is" : "are"} no longer declared`,
    drafts: removed.map(({ address, deletes }) => ({
      address,
      title: known.get(address)?.title,
      files: plural(deletes, "file"),
    })),
    effect: `Applying this plan deletes ${files === 1 ? "its file" : `${formatCount(files)} files`}; unless the config or a saved plan consents, apply asks first, or needs --remove-drafts`,
    command: keepCommand(removed),
  };
}

function viewUnmanaged(unmanaged: Plan["unmanaged"]): UnmanagedView | undefined {
  const [first] = unmanaged;
  if (first === undefined) return undefined;
  const files = unmanaged.reduce((sum, each) => sum + each.files, 0);
  const others = unmanaged.length === 1 ? "" : ` and ${plural(unmanaged.length - 1, "other list")}`;
  return {
    files: plural(files, "recorded file"),
    list: first.address,
    rest: `${others}, which the manifests leave out`,
  };
}

/** What a number of changes of each action comes to, in the order of summaries. */
export function countActions(summary: Summary): CountView[] {
  return actions.flatMap((action) => {
    const count = summary[action] ?? 0;
    return count === 0 || action === "noop"
      ? []
      : [{ action, count, text: `${formatCount(count)} ${actionTable[action].planned}` }];
  });
}

function irreversible(change: Change): PlanView["irreversible"] {
  const { action, address, title } = change;
  if (action !== "publish" && action !== "duplicate") return [];
  const symbol = actionTable[action].sign;
  if (action === "publish") {
    const draft = address.split("/")[1] ?? "";
    const again =
      change.before === null ? "" : ` once more (it is product ${change.before.product_id} already)`;
    return [{ symbol, address, title, does: `publishes a product from draft ${draft}${again}` }];
  }
  const { product_id, draft_id } = change.after;
  const product = product_id === undefined ? `the product of draft ${draft_id}` : `product ${product_id}`;
  return [{ symbol, address, does: `duplicates ${product}` }];
}

function doubtOf(change: Change): DoubtView[] {
  if (change.action !== "in_doubt") return [];
  const { address, title } = change;
  if (!isBlocked(change)) return [{ address, title, ending: "apply checks whether it took effect" }];
  const { kind, path } = change.before;
  // An entry may name a different file when a person runs the command; a path always names the same one.
  const named = kind === "update" || kind === "detach" ? path.replace(/^\/api\//, "") : address;
  const command = `draftsync resolve ${quoteArgument(named)} ${resolveAnswers(kind)}`;
  return [{ address, title, ending: `check the service, then: ${command}`, command }];
}

/** By draft, in the order of the plan, which is that of the addresses; a draft's publication stands last. */
function groupChanges({ changes, drafts }: Plan, now: number): GroupView[] {
  const groups = new Map<string, ChangeView[]>();
  const late: [string, ChangeView][] = [];
  for (const change of changes) {
    const group = groupOf(change.address);
    const view = viewChange(change, { label: change.address.slice(group.length + 1), now });
    if (!groups.has(group)) groups.set(group, []);
    if (change.action === "publish") late.push([group, view]);
    else groups.get(group)?.push(view);
  }
  for (const [group, view] of late) {
    const others = groups.get(group) ?? [];
    const waits = others.some(({ blocked }) => blocked);
    others.push(waits ? { ...view, note: "not before what is in doubt is settled" } : view);
  }
  const known = new Map(drafts.map((draft) => [draft.address, draft]));
  return [...groups].map(([address, views]) => {
    const { title, declared_at: declaredAt } = known.get(address) ?? {};
    return { address, title, declaredAt, changes: views };
  });
}

function groupOf(address: string): string {
  const parsed = parseAddress(address);
  if (parsed !== undefined && "draftId" in parsed) return `drafts/${parsed.draftId}`;
  return address.slice(0, Math.max(0, address.indexOf("/")));
}

type ShortValue = Extract<ValueView, { kind: "value" }>;

/** An attribute that changes in the same way in many files, as after a change of `defaults`. */
export interface RepeatedView {
  readonly value: ShortValue;
  /** `300 files of 120 drafts` */
  readonly files: string;
}

/** An attribute of one file that changes in a way of its own. */
export interface OtherView {
  readonly address: string;
  readonly title?: string | undefined;
  readonly value: ShortValue;
}

/** What repeats, and what hides among it: empty where it does not. */
export interface CommonValues {
  readonly repeated: readonly RepeatedView[];
  /** At most {@link maxOthers}; more are not exceptions. */
  readonly others: readonly OtherView[];
}

/** Fewer are seen in the list. */
const minFiles = 10;
const maxRepeated = 5;
const maxOthers = 20;

/** The changes of short values that repeat, the most frequent first, and the exceptions. Pure. */
export function commonValues(groups: readonly GroupView[]): CommonValues {
  const found = new Map<string, OtherView[]>();
  for (const { address: draft, title, changes } of groups) {
    for (const { action, label, values } of changes) {
      for (const value of action === "update" ? values : []) {
        if (value.kind !== "value") continue;
        const key = JSON.stringify([value.name, value.before ?? null, value.after ?? null]);
        append(found, key, { address: `${draft}/${label}`, title, value });
      }
    }
  }
  const sorted = [...found.values()].sort((one, other) => other.length - one.length);
  const repeated = sorted.filter(({ length }) => length >= minFiles).slice(0, maxRepeated);
  const others = sorted.slice(repeated.length).flat();
  return {
    repeated: repeated.flatMap((same) => {
      const [first] = same;
      const drafts = new Set(same.map(({ address }) => address.split("/", 2).join("/")));
      const files = `${plural(same.length, "file")} of ${plural(drafts.size, "draft")}`;
      return first === undefined ? [] : [{ value: first.value, files }];
    }),
    others: repeated.length === 0 || others.length > maxOthers ? [] : others,
  };
}

/** Codes of the warnings that stand for changes that a run leaves out. */
const narrowing: ReadonlySet<string> = new Set([
  "excluded-by-policy",
  "removed-drafts-excluded",
  "removed-duplicates-excluded",
  "new-ledger",
  "maybe-published",
]);

/** Why there is nothing to do, in a sentence. */
export function whyNoChanges(plan: PlanView): string {
  const codes = new Set(plan.diagnostics.map(({ code }) => code));
  if (waitingDrafts(plan, ["check"]).length > 0) return "Remaining changes wait until files can be read.";
  if (waitingDrafts(plan, ["person"]).length > 0) return "Remaining changes wait for what the warning names.";
  if ([...narrowing].some((code) => codes.has(code))) return "Remaining changes need manual approval.";
  if (codes.has("product-gone")) return "All but what is gone at the service is up to date.";
  return codes.has("not-readable") ? "What could be read is up to date." : "Everything is up to date.";
}
