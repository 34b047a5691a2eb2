import { type Action, actionTable } from "../model/action.ts";
import { parseAddress } from "../model/address.ts";
import type { AdoptChange, AttachmentState, Change, Reason, UpdateChange } from "../model/change.ts";
import { isBlocked, isProtectChange } from "../model/change.ts";
import type { AttributeName } from "../model/resource.ts";
import { allAttributeNames } from "../model/resource.ts";
import { describeConfirmed, formatBytes } from "./quantities.ts";
import { headOf } from "./sanitize-markdown.ts";
import type { Segment } from "./word-diff.ts";
import { diffWords } from "./word-diff.ts";

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

/** A value before and after (the same, where it stays): short ones in a line, texts word by word. */
export type ValueView =
  | {
      readonly kind: "value";
      readonly name: string;
      readonly before?: string | undefined;
      readonly after?: string | undefined;
    }
  | {
      readonly kind: "text";
      readonly name: string;
      readonly segments: readonly Segment[];
      /** There was no text before. */
      readonly isNew: boolean;
    };

const notes: Readonly<Record<Reason, string>> = {
  not_recorded: "",
  attributes_differ: "",
  drifted: "changed outside draftsync",
  gone: "detached outside draftsync",
  found: "attached already, and not recorded",
  content_changed: "content changed",
  renamed: "recorded under another name",
  not_in_manifest: "removed from manifests",
  not_published: "",
  revision_raised: "revision raised",
  protect: "kept in the ledger only",
  unprotect: "kept in the ledger only",
  outcome_unknown: "in doubt",
};

/** Longer values of a file that is detached are cut. */
const maxDeletedLength = 60;

/** How a change is shown. `label` is its address below the group's heading; `now` is in epoch milliseconds. */
export function viewChange(
  change: Change,
  { label, now }: { readonly label: string; readonly now: number },
): ChangeView {
  const { action, confirmed, doubt } = change;
  const parts = [
    noteOf(change),
    confirmed === undefined ? "" : describeConfirmed(confirmed, now),
    doubt === undefined ? "" : `in doubt: sent ${doubt.since}; ${doubt.detail}`,
  ];
  return {
    action,
    symbol: actionTable[action].sign,
    blocked: isBlocked(change),
    label,
    note: parts.filter((part) => part !== "").join("; "),
    values: valuesOf(change),
  };
}

function noteOf(change: Change): string {
  const note = notes[change.reason];
  switch (change.action) {
    case "adopt":
      return change.reason === "found" ? note : `was ${change.before.address ?? "recorded"}; no call`;
    case "in_doubt":
      return `sent ${change.before.since}; ${change.before.detail}`;
    case "forget":
      return `${note}; product ${change.before.product_id} stays at the service`;
    case "delete":
      return isNamedById(change.address) ? note : `${note}, file ${change.before.file_id}`;
    case "create":
      return [note, uploadNote(change.after)].filter((part) => part !== "").join("; ");
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

/** Whether an address shows the id of its file. */
function isNamedById(address: string): boolean {
  const parsed = parseAddress(address);
  return parsed?.type === "attachment" && parsed.ref.by === "file_id";
}

function uploadNote({ file_id, upload_id, upload_key, size }: AttachmentState): string {
  if (upload_id !== undefined && file_id === undefined) return "uploaded already, waiting for its file id";
  if (upload_key !== undefined && file_id === undefined) return "in storage already";
  return size !== undefined && file_id === undefined ? `upload of ${formatBytes(size)}` : "";
}

function valuesOf(change: Change): ValueView[] {
  if (isProtectChange(change)) {
    const { before, after } = change;
    return [shortValue("protect", String(before.protect), String(after.protect))];
  }
  switch (change.action) {
    case "create":
    case "in_doubt":
      return attributeValues({}, change.after ?? {}, change.attributes);
    case "update":
      return [
        ...attributeValues(change.before, change.after, change.attributes),
        ...(change.before.address === undefined ? [] : unmanagedValues(change)),
      ];
    case "replace":
      return [
        contentValue(change.before, change.after),
        ...attributeValues(change.before, change.after, change.attributes),
        // What the new file has in common with the recorded one: also attributes that are not managed keep their values.
        ...keptValues(change.after, (name) => !change.attributes.includes(name)),
      ];
    case "adopt":
      return unmanagedValues(change);
    case "publish":
      return [shortValue("revision", change.before?.revision.toString(), change.after.revision.toString())];
    case "delete":
      return allAttributeNames.flatMap((name) => deletedValue(name, change.before[name]));
    case "duplicate":
    case "forget":
      return [];
  }
}

/** An attribute of a file that is detached; of a long text, the beginning. */
function deletedValue(name: AttributeName, value: Value): ValueView[] {
  if (value === undefined) return [];
  const text = JSON.stringify(value);
  const before = text.length > maxDeletedLength ? `${headOf(text, maxDeletedLength)}…"` : text;
  return [shortValue(name, before, undefined)];
}

/** What a file keeps under its new name, and no entry manages: an earlier plan may have shown it as deleted. */
function unmanagedValues({ before, after }: UpdateChange | AdoptChange): ValueView[] {
  return keptValues(before, (name) => after[name] === undefined && before[name] !== "");
}

function keptValues(state: AttachmentState, isKept: (name: AttributeName) => boolean): ValueView[] {
  const kept = allAttributeNames.flatMap((name) => {
    const value = state[name];
    if (value === undefined || !isKept(name)) return [];
    const shown = JSON.stringify(value);
    return [shown.length > 60 ? name : `${name} ${shown}`];
  });
  const value = kept.join(", ");
  return kept.length === 0 ? [] : [shortValue("kept", value, value)];
}

function shortValue(name: string, before: string | undefined, after: string | undefined): ValueView {
  return { kind: "value", name, before, after };
}

function contentValue(before: AttachmentState, after: AttachmentState): ValueView {
  const short = (state: AttachmentState) =>
    state.sha256 === undefined ? "unknown" : `sha256 ${state.sha256.slice(0, 12)}`;
  const size = after.size === undefined ? "" : `, ${formatBytes(after.size)}`;
  return shortValue("content", `${short(before)}, file ${before.file_id}`, `${short(after)}${size}`);
}

/** Attributes before and after, in canonical order. */
export function attributeValues(
  before: AttachmentState,
  after: AttachmentState,
  changed: readonly string[],
): ValueView[] {
  return allAttributeNames
    .filter((name) => changed.includes(name))
    .map((name) => valueView(name, before[name], after[name]));
}

type Value = string | boolean | undefined;

function valueView(name: AttributeName, before: Value, after: Value): ValueView {
  const isLong = typeof before === "string" && before.length > 60;
  if (name === "description" && typeof after === "string" && (after !== "" || isLong)) {
    return textView(name, typeof before === "string" ? before : undefined, after);
  }
  return shortValue(name, JSON.stringify(before), JSON.stringify(after));
}

/** Compared when it is first read: of 20,000 texts a shortened comment shows a few. */
function textView(name: string, before: string | undefined, after: string): ValueView {
  let compared: readonly Segment[] | undefined;
  return {
    kind: "text",
    name,
    isNew: before === undefined,
    get segments() {
      compared ??= diffWords(before ?? "", after);
      return compared;
    },
  };
}
