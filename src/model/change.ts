import { type Action, actionTable, type Stage } from "./action.ts";
import { draftIdOf } from "./address.ts";
import { type ConfirmedState, makesProduct } from "./recorded.ts";
import { type Attributes, allAttributeNames } from "./resource.ts";

/**
 * Why a change is there. For people only: no code branches on it.
 *
 * | reason | says |
 * |---|---|
 * | not_recorded | the ledger knows of no such thing |
 * | attributes_differ | recorded attributes are not the desired ones |
 * | drifted | an attribute was changed outside draftsync |
 * | gone | the file was detached outside draftsync |
 * | found | the file is attached already, and was not recorded |
 * | content_changed | the local file is not the one that was uploaded |
 * | renamed | the same file was recorded under another address |
 * | not_in_manifest | recorded, and no manifest asks for it |
 * | not_published, revision_raised | a publication is asked for and not recorded |
 * | protect, unprotect | the manifest's `protect` is not the ledger's |
 * | outcome_unknown | an earlier call may or may not have taken effect |
 */
export type Reason =
  | "not_recorded"
  | "attributes_differ"
  | "drifted"
  | "gone"
  | "found"
  | "content_changed"
  | "renamed"
  | "not_in_manifest"
  | "not_published"
  | "revision_raised"
  | "protect"
  | "unprotect"
  | "outcome_unknown";

/** An attachment before or after a change, as in the plan's JSON. */
export interface AttachmentState extends Attributes {
  /** Absent while it is not known: before an upload has ended. */
  readonly file_id?: number;
  /** Local file, relative to the workspace. */
  readonly source?: string;
  /** Of the local file's content, hex. */
  readonly sha256?: string;
  /** Of the local file, bytes. */
  readonly size?: number;
  /** An upload that is registered already. */
  readonly upload_id?: string;
  /** An object that is in storage already. */
  readonly upload_key?: string;
  /** In `before`: the address under which it is recorded, when that is another one. */
  readonly address?: string;
}

/** What people call the draft of a resource, and where the manifests declare it. */
export interface ResourceName {
  /** The draft's title; of a draft that is no longer declared, the recorded one. */
  readonly title?: string;
  /** `manifests/sea-serpent.yaml:7`: of the entry, or of the draft where no entry declares the resource. */
  readonly declared_at?: string;
}

interface ChangeOf<A extends Action, Before, After> extends ResourceName {
  readonly address: string;
  readonly action: A;
  readonly reason: Reason;
  readonly before: Before;
  readonly after: After;
  /** Names of the attributes that change, in canonical order. */
  readonly attributes: readonly string[];
  /** How `before` is known; absent where nothing is recorded. */
  readonly confirmed?: ConfirmedState;
  /** An earlier call about the file that is in doubt, which this change settles as well. */
  readonly doubt?: InDoubtState;
}

interface Takeover {
  /** The entry that the file is recorded for stays, and gets another file: the ledger keeps its values until then. */
  readonly takes_over?: true;
}

/** Attach a file; upload it first when it has no file id. */
export type CreateChange = ChangeOf<"create", null, AttachmentState> & {
  /** Another entry takes, or has taken, the file of this one: it gets its own values, and no other's with a recorded file. */
  readonly had_file?: true;
};
/** Change attributes of an attached file. */
export type UpdateChange = ChangeOf<"update", AttachmentState, AttachmentState> & Takeover;
/** New content: upload, attach the new file, then detach the recorded one. */
export type ReplaceChange = ChangeOf<"replace", AttachmentState, AttachmentState>;
/** Attached already: recorded under its new address, without a call that changes it. */
export type AdoptChange = ChangeOf<"adopt", AttachmentState, AttachmentState> & Takeover;
/** Detach a file. */
export type DeleteChange = ChangeOf<"delete", AttachmentState, null> & {
  /** The second half of a replacement, whose new file is attached already: no limit on deletions is meant for it. */
  readonly completes_replace?: true;
};
/** Keep or lift the protection of a draft, in the ledger only. */
export type ProtectChange = ChangeOf<"update", ProtectState, ProtectState>;
/** Publish a product from a draft. Cannot be undone. */
export type PublishChange = ChangeOf<
  "publish",
  { readonly revision: number; readonly product_id: number } | null,
  { readonly revision: number }
>;

/** How a person settles a publication that may have been made by a call that is not in the ledger. */
export function maybePublishedHint({ address, after: { revision } }: PublishChange): string {
  const what = revision === 1 ? "it" : `revision ${revision}`;
  return `If ${what} is published: draftsync resolve ${address} --product-id ID. If ${what} is not: draftsync resolve ${address} --not-done`;
}

/** The answers of `draftsync resolve` that fit one call in doubt. */
export function resolveAnswers(kind: string): string {
  if (makesProduct(kind)) return "--product-id ID | --not-done";
  return kind === "detach" ? "--attached | --not-attached" : "--done | --not-done";
}

/** Duplicate a product. Cannot be undone. */
export type DuplicateChange = ChangeOf<"duplicate", null, DuplicateState> & {
  /** The address of a recorded copy of the same product that no manifest declares any more: this may be it, renamed. */
  readonly former?: string;
};
/** Drop a ledger entry; nothing happens at the service. */
export type ForgetChange = ChangeOf<"forget", { readonly product_id: number }, null>;
/**
 * An earlier operation of this address may or may not have taken effect. With an `after`, apply finds out whether the
 * file is attached, and attaches it when it is not; without one, the address is blocked until a person has settled it.
 * What of its draft depends on that waits for the next plan.
 */
export type InDoubtChange = ChangeOf<"in_doubt", InDoubtState, AttachmentState | null> &
  Takeover & {
    /** The manifests ask for another file, or for none: when this one is not attached, it is not attached again. */
    readonly check_only?: true;
  };

/** Whether nothing of a draft may be deleted. */
export interface ProtectState {
  readonly protect: boolean;
}

/** What is duplicated: a product, or the one published from a draft (whose id may not be known yet). */
export interface DuplicateState {
  readonly product_id?: number;
  readonly draft_id?: number;
}

/** The operation that is in doubt. Times are ISO 8601, UTC. */
export interface InDoubtState {
  readonly operation_id: string;
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly since: string;
  /** Of the response that did not settle it. */
  readonly status?: number;
  readonly detail: string;
}

/** A change to an attachment that needs work, at the service or in the ledger. */
export type AttachmentChange = CreateChange | UpdateChange | ReplaceChange | AdoptChange | DeleteChange;

/** One difference between what is desired and what is recorded. Things that are as desired are only counted. */
export type Change =
  | AttachmentChange
  | ProtectChange
  | PublishChange
  | DuplicateChange
  | ForgetChange
  | InDoubtChange;

/** Whether an update is of a draft's protection, not of an attachment. */
export function isProtectChange(change: Change): change is ProtectChange {
  return change.action === "update" && "protect" in change.after;
}

/** Whether a change deletes a file, which the second half of a replacement does not. */
export function isDeletion(change: Change): boolean {
  return change.action === "delete" && change.completes_replace !== true;
}

/** Whether a change takes a file off a draft whose place no attached file has taken. */
export function detaches(change: Change): boolean {
  return isDeletion(change) || change.action === "replace";
}

/** Whether a change is a doubt that only a person can settle. */
export function isBlocked(change: Change): boolean {
  return change.action === "in_doubt" && change.after === null;
}

/** The stages in which a change has work to do, in order; a doubt that only a person can settle has none. An upload is not counted. */
export function stagesOf(change: Change): readonly Stage[] {
  if (isProtectChange(change)) return ["ledger"];
  return isBlocked(change) ? [] : actionTable[change.action].stages;
}

/** Whether a change is about an attached file that stays attached. */
export function isOfAttached(change: Change): change is UpdateChange | AdoptChange {
  return change.action === "adopt" || (change.action === "update" && !isProtectChange(change));
}

/** The id of the draft a change belongs to; 0 when it belongs to none. */
export function draftOf({ address }: Pick<Change, "address">): number {
  return draftIdOf(address) ?? 0;
}

const stateMembers = [
  "file_id",
  "source",
  "sha256",
  "size",
  "upload_id",
  "upload_key",
  "address",
  ...allAttributeNames,
] as const satisfies readonly (keyof AttachmentState)[];

/** The same state with its members in the order of plans, so that a plan that is read back has the same bytes again. */
export function orderState(state: AttachmentState): AttachmentState {
  return Object.fromEntries(
    stateMembers.filter((name) => state[name] !== undefined).map((name) => [name, state[name]]),
  );
}
