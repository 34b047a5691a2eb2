import { compareText } from "../../../src/model/address.ts";
import type { LedgerEffect } from "../../../src/model/ports.ts";
import type {
  Recorded,
  RecordedAttachment,
  RecordedDuplicate,
  RecordedObject,
  RecordedPublication,
  RecordedUpload,
} from "../../../src/model/recorded.ts";
import type { Attributes } from "../../../src/model/resource.ts";

interface Records {
  readonly titles: Map<number, string>;
  readonly protectedDrafts: Set<number>;
  readonly maybePublished: Map<number, number>;
  readonly attachments: Map<string, RecordedAttachment>;
  readonly keptValues: Map<string, Attributes>;
  readonly publications: Map<string, RecordedPublication>;
  readonly duplicates: Map<string, RecordedDuplicate>;
  readonly uploads: Map<string, RecordedUpload>;
  readonly storedObjects: Map<string, RecordedObject>;
  readonly refreshes: Map<string, number>;
}

/** A simple ledger in memory, the reference for the real ones. */
export class LedgerModel {
  #serial = 0;
  #records: Records = {
    titles: new Map(),
    protectedDrafts: new Set(),
    maybePublished: new Map(),
    attachments: new Map(),
    keptValues: new Map(),
    publications: new Map(),
    duplicates: new Map(),
    uploads: new Map(),
    storedObjects: new Map(),
    refreshes: new Map(),
  };

  /** Records all effects, or returns `false` and records none. */
  record(effects: readonly LedgerEffect[]): boolean {
    const records = structuredClone(this.#records);
    if (!effects.every((effect) => apply(records, effect))) return false;
    this.#records = records;
    this.#serial += 1;
    return true;
  }

  /** Without versions, which have tests of their own. */
  recorded(): Omit<Recorded, "lineage" | "versions"> {
    const { titles, protectedDrafts, maybePublished, attachments, keptValues, publications } = this.#records;
    const { duplicates, uploads, storedObjects, refreshes } = this.#records;
    return {
      serial: this.#serial,
      isConfirmed: false,
      titles,
      protectedDrafts,
      maybePublished,
      attachments: [...attachments.values()].sort((a, b) => compareText(a.address, b.address)),
      keptValues,
      publications: [...publications.values()].sort(
        (a, b) => a.draftId - b.draftId || a.revision - b.revision,
      ),
      duplicates: [...duplicates.values()].sort((a, b) => compareText(a.name, b.name)),
      uploads: [...uploads.values()].sort((a, b) => compareText(a.uploadId, b.uploadId)),
      storedObjects: [...storedObjects.values()].sort((a, b) => compareText(a.uploadKey, b.uploadKey)),
      refreshes: [...refreshes]
        .map(([resource, at]) => ({ resource, at }))
        .sort((a, b) => compareText(a.resource, b.resource)),
      inDoubt: [],
    };
  }
}

type FileKey = Pick<RecordedAttachment, "draftId" | "kind" | "fileId">;

const keyOf = ({ draftId, kind, fileId }: FileKey) => `drafts/${draftId}/${kind}/${fileId}`;

/** Returns `false` for an impossible effect. */
function apply(records: Records, effect: LedgerEffect): boolean {
  switch (effect.type) {
    case "attached":
      place(records, effect.attachment, { replaces: effect.replaces });
      releaseSet(records, effect.attachment);
      return true;
    case "rerecorded":
      if (!records.attachments.has(keyOf(effect.attachment))) return false;
      place(records, effect.attachment);
      releaseSet(records, effect.attachment);
      return true;
    case "readdressed":
      return readdress(records, effect);
    case "detached":
      records.keptValues.delete(records.attachments.get(keyOf(effect.target))?.address ?? "");
      records.attachments.delete(keyOf(effect.target));
      markAgain(records.attachments, effect.target, undefined);
      records.refreshes.delete(keyOf(effect.target));
      return true;
    case "published": {
      const { type: _, ...publication } = effect;
      return addNew(records.publications, `${effect.draftId} ${effect.revision}`, publication);
    }
    case "duplicated": {
      const { type: _, ...duplicate } = effect;
      notePublication(records, duplicate);
      return addNew(records.duplicates, effect.name, duplicate);
    }
    case "values_forgotten":
      records.keptValues.delete(effect.address);
      return true;
    case "duplicate_forgotten":
      records.duplicates.delete(effect.name);
      return true;
    case "product_confirmed": {
      const { productId, provenance } = effect;
      for (const [key, each] of records.publications) {
        if (each.productId === productId) records.publications.set(key, { ...each, provenance });
      }
      for (const [key, each] of records.duplicates) {
        if (each.productId === productId) records.duplicates.set(key, { ...each, provenance });
      }
      return true;
    }
    case "refreshed":
      records.refreshes.set(effect.resource, effect.at);
      return true;
    case "titled":
      records.titles.set(effect.draftId, effect.title);
      return true;
    case "protection":
      if (effect.protect) records.protectedDrafts.add(effect.draftId);
      else records.protectedDrafts.delete(effect.draftId);
      return true;
    case "maybe_published":
      addNew(records.maybePublished, effect.draftId, effect.at);
      return true;
    case "maybe_published_settled":
      records.maybePublished.delete(effect.draftId);
      return true;
    case "object_stored": {
      const { type: _, ...object } = effect;
      records.storedObjects.set(effect.uploadKey, object);
      return true;
    }
    case "object_forgotten":
      records.storedObjects.delete(effect.uploadKey);
      return true;
    case "upload_registered": {
      const { type: _, ...upload } = effect;
      records.storedObjects.delete(effect.uploadKey);
      records.uploads.set(effect.uploadId, { ...upload, status: "pending" });
      return true;
    }
    case "upload_found": {
      const { type: _, at, ...end } = effect;
      const upload = records.uploads.get(effect.uploadId) ?? { at };
      records.uploads.set(effect.uploadId, { ...upload, ...end });
      return true;
    }
    case "upload_ended": {
      const { type: _, ...end } = effect;
      const upload = records.uploads.get(effect.uploadId);
      if (upload !== undefined) records.uploads.set(effect.uploadId, { ...upload, ...end });
      return true;
    }
    case "settled":
      return false;
  }
}

type Readdressed = Extract<LedgerEffect, { type: "readdressed" }>;

function readdress(records: Records, effect: Readdressed): boolean {
  const known = records.attachments.get(keyOf(effect.target));
  if (known === undefined) return false;
  const { address, sha256, replaces, takesOver, formerAddress } = effect;
  const isEntry = known.address !== address && known.address !== keyOf(known);
  if (takesOver && isEntry) addNew(records.keptValues, known.address, known.attributes);
  const { replacedBy: _by, formerAddress: _from, ...kept } = known;
  const from = formerAddress === undefined ? {} : { formerAddress };
  place(records, { ...kept, address, ...(sha256 === undefined ? {} : { sha256 }), ...from }, { replaces });
  records.keptValues.delete(address);
  return true;
}

/** A file that a call has given to an entry has the values that were kept for it. */
function releaseSet({ keptValues }: Records, { address, provenance: { by } }: RecordedAttachment): void {
  if (by === "post" || by === "patch") keptValues.delete(address);
}

/** A copy of a draft's product that is not recorded. */
function notePublication(
  { publications, maybePublished }: Records,
  { from, sourceProductId, provenance }: RecordedDuplicate,
): void {
  if (from.by !== "draft") return;
  const { draftId } = from;
  const products = [...publications.values()].filter((each) => each.draftId === draftId);
  if (products.some(({ productId }) => productId === sourceProductId)) return;
  addNew(maybePublished, draftId, provenance.at);
}

interface Placing {
  readonly replaces?: number | undefined;
}

/**
 * The record that has the address and the replaced record get their numeric addresses. The replaced record
 * is still to be detached.
 */
function place({ attachments }: Records, attachment: RecordedAttachment, { replaces }: Placing = {}): void {
  for (const [key, other] of attachments) {
    if (other.address !== attachment.address) continue;
    const isReplaced = other.fileId === replaces;
    attachments.set(key, {
      ...other,
      address: key,
      formerAddress: attachment.address,
      ...(isReplaced ? { replacedBy: attachment.fileId } : {}),
    });
  }
  if (replaces !== undefined) markAgain(attachments, { ...attachment, fileId: replaces }, attachment.fileId);
  attachments.set(keyOf(attachment), attachment);
}

/** Files that `file` has replaced are replaced by another one, or by none. */
function markAgain(attachments: Records["attachments"], file: FileKey, by: number | undefined): void {
  for (const [key, { replacedBy, ...other }] of attachments) {
    const isSameList = other.draftId === file.draftId && other.kind === file.kind;
    if (isSameList && replacedBy === file.fileId)
      attachments.set(key, { ...other, ...(by === undefined ? {} : { replacedBy: by }) });
  }
}

function addNew<Key, T>(map: Map<Key, T>, key: Key, value: T): boolean {
  if (map.has(key)) return false;
  map.set(key, value);
  return true;
}
