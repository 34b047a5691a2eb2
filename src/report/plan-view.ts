import { parseAddress } from "../model/address.ts";
import type { Action, AttachmentState, Change, Reason } from "../model/change.ts";
import { actions, isBlocked, isProtectChange } from "../model/change.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Plan } from "../model/plan.ts";
import type { AttributeName } from "../model/resource.ts";
import { attributeNames } from "../model/resource.ts";
import { formatBytes, formatCount, formatRate, formatSeconds, plural } from "./quantities.ts";
import type { Segment } from "./word-diff.ts";
import { diffWords } from "./word-diff.ts";

/** A plan as people see it; every format renders this and nothing else. Text from outside is not yet made inert. */
export interface PlanView {
  readonly workspace: string;
  readonly serviceOrigin: string;
  readonly groups: readonly GroupView[];
  readonly counts: readonly CountView[];
  readonly unchanged: number;
  readonly cost: CostView | undefined;
  /** What cannot be undone once it is done. */
  readonly irreversible: readonly {
    readonly symbol: string;
    readonly address: string;
    readonly does: string;
  }[];
  /** What is in doubt, and how that ends. */
  readonly doubts: readonly { readonly address: string; readonly ending: string }[];
  readonly diagnostics: readonly Diagnostic[];
}

/** The changes of one draft, or all duplicates. */
export interface GroupView {
  readonly heading: string;
  readonly changes: readonly ChangeView[];
}

/** One change. */
export interface ChangeView {
  readonly action: Action;
  readonly symbol: string;
  /** In doubt, and for a person to settle. */
  readonly blocked: boolean;
  /** The address below the group's heading. */
  readonly label: string;
  /** Why, in a few words; empty where the symbol says it all. */
  readonly note: string;
  readonly values: readonly ValueView[];
}

/** A value before and after: short ones in a line, texts word by word. */
export type ValueView =
  | { readonly kind: "value"; readonly name: string; readonly before?: string; readonly after?: string }
  | {
      readonly kind: "text";
      readonly name: string;
      readonly segments: readonly Segment[];
      /** There was no text before. */
      readonly isNew: boolean;
    };

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

/** The sign of an action in a plan. */
export const symbols: Readonly<Record<Action, string>> = {
  create: "+",
  update: "~",
  delete: "-",
  replace: "-/+",
  adopt: "=",
  publish: "!",
  duplicate: "!",
  forget: "x",
  in_doubt: "?",
  noop: " ",
};

/** Makes the view of a plan. Pure. */
export function viewPlan(plan: Plan): PlanView {
  const { calls, seconds, rate } = plan.estimate;
  const cost = {
    calls: plural(calls.min, "call"),
    time: `about ${formatSeconds(seconds)}`,
    rate: formatRate(rate.limit, rate.window_ms),
    upTo: plural(calls.max, "call"),
  };
  return {
    workspace: plan.workspace,
    serviceOrigin: plan.service_origin,
    groups: groupChanges(plan.changes),
    counts: countChanges(plan),
    unchanged: plan.summary.noop ?? 0,
    cost: calls.min === 0 ? undefined : cost,
    irreversible: plan.changes.flatMap(irreversible),
    doubts: plan.changes.flatMap(doubtOf),
    diagnostics: plan.diagnostics,
  };
}

const verbs: Readonly<Record<Action, string>> = {
  create: "to create",
  update: "to update",
  replace: "to replace",
  adopt: "to adopt",
  delete: "to delete",
  publish: "to publish",
  duplicate: "to duplicate",
  forget: "to forget",
  in_doubt: "in doubt",
  noop: "unchanged",
};

function countChanges({ summary }: Plan): CountView[] {
  return actions.flatMap((action) => {
    const count = summary[action] ?? 0;
    return count === 0 || action === "noop"
      ? []
      : [{ action, count, text: `${formatCount(count)} ${verbs[action]}` }];
  });
}

function irreversible(change: Change) {
  const { action, address } = change;
  if (action === "publish") {
    const draft = address.split("/")[1] ?? "";
    const again =
      change.before === null ? "" : ` once more (it is product ${change.before.product_id} already)`;
    return [{ symbol: symbols[action], address, does: `publishes a product from draft ${draft}${again}` }];
  }
  if (action !== "duplicate") return [];
  const { product_id, draft_id } = change.after;
  const does =
    product_id === undefined
      ? `duplicates the product of draft ${draft_id}`
      : `duplicates product ${product_id}`;
  return [{ symbol: symbols[action], address, does }];
}

function doubtOf(change: Change) {
  if (change.action !== "in_doubt") return [];
  const { address } = change;
  if (!isBlocked(change)) return [{ address, ending: "apply will find out" }];
  const product = change.before.kind === "publish" || change.before.kind === "duplicate";
  const flag = product ? "--product-id ID" : "--done";
  return [
    {
      address,
      ending: `look at the service, then: draftsync resolve ${quoteArgument(address)} ${flag} | --not-done`,
    },
  ];
}

/** An address as an argument on a command line: quoted when it holds more than plain characters. */
function quoteArgument(address: string): string {
  return /^[\w./:-]+$/.test(address) ? address : `'${address.replaceAll("'", "'\\''")}'`;
}

/** By draft, in the order of the plan, which is that of the addresses; a draft's publication stands last. */
function groupChanges(changes: readonly Change[]): GroupView[] {
  const groups = new Map<string, ChangeView[]>();
  const late: [string, ChangeView][] = [];
  for (const change of changes) {
    const heading = headingOf(change.address);
    const view = viewChange(change, change.address.slice(heading.length + 1));
    if (!groups.has(heading)) groups.set(heading, []);
    if (change.action === "publish") late.push([heading, view]);
    else groups.get(heading)?.push(view);
  }
  for (const [heading, view] of late) {
    const others = groups.get(heading) ?? [];
    const waits = others.some(({ blocked }) => blocked);
    others.push(waits ? { ...view, note: "not before what is in doubt is settled" } : view);
  }
  return [...groups].map(([heading, views]) => ({ heading, changes: views }));
}

function headingOf(address: string): string {
  const parsed = parseAddress(address);
  if (parsed !== undefined && "draftId" in parsed) return `drafts/${parsed.draftId}`;
  return address.slice(0, Math.max(0, address.indexOf("/")));
}

const notes: Readonly<Record<Reason, string>> = {
  not_recorded: "",
  attributes_differ: "",
  content_changed: "content changed",
  renamed: "recorded under another name",
  not_in_manifest: "in no manifest",
  not_published: "",
  revision_raised: "revision raised",
  protect: "kept in the ledger only",
  unprotect: "kept in the ledger only",
  outcome_unknown: "in doubt",
};

function viewChange(change: Change, label: string): ChangeView {
  const { action } = change;
  const blocked = isBlocked(change);
  return { action, symbol: symbols[action], blocked, label, note: noteOf(change), values: valuesOf(change) };
}

function noteOf(change: Change): string {
  const note = notes[change.reason];
  switch (change.action) {
    case "adopt":
      return `was ${change.before.address ?? "recorded"}; no call`;
    case "in_doubt":
      return `sent ${change.before.since}; ${change.before.detail}`;
    case "forget":
      return `${note}; product ${change.before.product_id} stays at the service`;
    case "delete":
      return change.address.endsWith(`/${change.before.file_id}`)
        ? note
        : `${note}, file ${change.before.file_id}`;
    case "create":
      return uploadNote(change.after);
    case "update":
      return isProtectChange(change) || change.before.address === undefined
        ? note
        : `was ${change.before.address}`;
    case "replace":
    case "publish":
    case "duplicate":
      return note;
  }
}

function uploadNote({ file_id, upload_id, upload_key, size }: AttachmentState): string {
  if (upload_id !== undefined && file_id === undefined) return "uploaded already, waiting for its file id";
  if (upload_key !== undefined && file_id === undefined) return "in storage already";
  return size !== undefined && file_id === undefined ? `upload of ${formatBytes(size)}` : "";
}

function valuesOf(change: Change): ValueView[] {
  if (isProtectChange(change)) {
    return [
      {
        kind: "value",
        name: "protect",
        before: String(change.before.protect),
        after: String(change.after.protect),
      },
    ];
  }
  switch (change.action) {
    case "create":
      return attributeValues({}, change.after, change.attributes);
    case "update":
      return attributeValues(change.before, change.after, change.attributes);
    case "replace":
      return [
        contentValue(change.before, change.after),
        ...attributeValues(change.before, change.after, change.attributes),
      ];
    case "publish":
      return [revisionValue(change.before?.revision, change.after.revision)];
    case "delete":
    case "adopt":
    case "duplicate":
    case "forget":
    case "in_doubt":
      return [];
  }
}

function revisionValue(before: number | undefined, after: number): ValueView {
  return {
    kind: "value",
    name: "revision",
    ...(before === undefined ? {} : { before: String(before) }),
    after: String(after),
  };
}

function contentValue(before: AttachmentState, after: AttachmentState): ValueView {
  const short = (state: AttachmentState) =>
    state.sha256 === undefined ? "unknown" : `sha256 ${state.sha256.slice(0, 12)}`;
  const size = after.size === undefined ? "" : `, ${formatBytes(after.size)}`;
  return {
    kind: "value",
    name: "content",
    before: `${short(before)}, file ${before.file_id}`,
    after: `${short(after)}${size}`,
  };
}

const order: readonly AttributeName[] = [
  ...attributeNames.product_files,
  ...attributeNames.promotional_files,
];

function attributeValues(
  before: AttachmentState,
  after: AttachmentState,
  changed: readonly string[],
): ValueView[] {
  return order
    .filter((name) => changed.includes(name))
    .map((name) => valueView(name, before[name], after[name]));
}

type Value = string | boolean | undefined;

function valueView(name: AttributeName, before: Value, after: Value): ValueView {
  const isLong = typeof before === "string" && before.length > 60;
  if (name === "description" && typeof after === "string" && (after !== "" || isLong)) {
    const segments = diffWords(typeof before === "string" ? before : "", after);
    return { kind: "text", name, segments, isNew: before === undefined };
  }
  return {
    kind: "value",
    name,
    ...(before === undefined ? {} : { before: JSON.stringify(before) }),
    ...(after === undefined ? {} : { after: JSON.stringify(after) }),
  };
}
