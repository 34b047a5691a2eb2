import { formatAddress } from "../../../src/model/address.ts";
import type { Desired, DesiredAttachment } from "../../../src/model/desired.ts";
import type { Recorded, RecordedAttachment } from "../../../src/model/recorded.ts";
import type { Attributes } from "../../../src/model/resource.ts";

/**
 * A minimal difference of desired and recorded, for manifests that name files by id or by source and that
 * rename nothing: `create drafts/1/product_files/11`, sorted. Independent of the planner, which is compared with it.
 */
export function expectedChanges(desired: Desired, recorded: Recorded): string[] {
  const changes = new Map<string, string>([
    ...attachmentChanges(desired, recorded),
    ...draftChanges(desired, recorded),
    ...duplicateChanges(desired, recorded),
  ]);
  for (const { kind, address } of recorded.inDoubt) {
    if (/^(attach|publish|duplicate)$/.test(kind)) changes.set(address, "in_doubt");
  }
  excludeProtected(changes, desired, recorded);
  deferForDoubts(changes, desired, recorded);
  return [...changes].map(([address, action]) => `${action} ${address}`).sort();
}

function attachmentChanges({ drafts }: Desired, recorded: Recorded): Map<string, string> {
  const changes = new Map<string, string>();
  const known = new Map(recorded.attachments.map((each) => [each.address, each]));
  for (const file of drafts.flatMap(({ attachments }) => attachments)) {
    const address = formatAddress(file.address);
    const record = known.get(address);
    const taker = takerOf(file, record, recorded);
    const action = taker === undefined ? actionFor(file, record, recorded) : takingOf(taker, recorded);
    if (action !== undefined) changes.set(address, action);
    known.delete(address);
    if (taker === undefined) continue;
    known.delete(taker.address ?? "");
    if (record !== undefined) changes.set(byFileId(record), "delete");
  }
  for (const address of known.keys()) changes.set(address, "delete");
  return changes;
}

function draftChanges({ drafts }: Desired, { protectedDrafts, publications }: Recorded): [string, string][] {
  return drafts.flatMap(({ draftId, protect, publish }): [string, string][] => {
    const published = publications.filter((each) => each.draftId === draftId);
    const latest = Math.max(0, ...published.map(({ revision }) => revision));
    return [
      ...(protect === protectedDrafts.has(draftId)
        ? []
        : [[`drafts/${draftId}`, "update"] as [string, string]]),
      ...((publish?.revision ?? 0) > latest
        ? [[`drafts/${draftId}/product`, "publish"] as [string, string]]
        : []),
    ];
  });
}

function duplicateChanges({ drafts, duplicates }: Desired, recorded: Recorded): Map<string, string> {
  const changes = new Map<string, string>();
  const copies = new Set(recorded.duplicates.map(({ name }) => name));
  const published = new Set(recorded.publications.map(({ draftId }) => draftId));
  for (const { draftId, publish } of drafts) if (publish !== undefined) published.add(draftId);
  for (const { name, product } of duplicates) {
    const possible = product.by === "product_id" || published.has(product.draftId);
    if (!copies.delete(name) && possible) changes.set(`duplicates/${name}`, "duplicate");
  }
  for (const name of copies) changes.set(`duplicates/${name}`, "forget");
  return changes;
}

/**
 * A file with the desired content that takes over the address of a desired source: attached under another
 * address or in doubt.
 */
function takerOf(
  { address, content }: DesiredAttachment,
  record: RecordedAttachment | undefined,
  { attachments, inDoubt }: Recorded,
): { readonly address?: string; readonly fileId?: number } | undefined {
  if (content === undefined || record?.sha256 === content.sha256) return undefined;
  const doubt = inDoubt.find((each) => each.kind === "attach" && each.address === formatAddress(address));
  if (doubt !== undefined) return doubt.intent.sha256 === content.sha256 ? {} : undefined;
  return attachments.find(({ draftId, sha256 }) => draftId === address.draftId && sha256 === content.sha256);
}

/** A file that may have been detached is checked first. */
function takingOf({ fileId }: { readonly fileId?: number }, { inDoubt }: Recorded): string {
  const isDetaching = inDoubt.some(({ kind, intent }) => kind === "detach" && intent.fileId === fileId);
  return isDetaching ? "in_doubt" : "adopt";
}

function byFileId({ draftId, kind, fileId }: RecordedAttachment): string {
  return `drafts/${draftId}/${kind}/${fileId}`;
}

function actionFor(
  { address, attributes, content }: DesiredAttachment,
  record: RecordedAttachment | undefined,
  { inDoubt }: Recorded,
): string | undefined {
  if (record === undefined) return "create";
  if (content !== undefined && content.sha256 !== record.sha256) return "replace";
  // The replaced file has a separate delete.
  const unsure = inDoubt.filter(
    ({ kind, intent, ...each }) =>
      (kind === "update" || kind === "detach") &&
      each.address === formatAddress(address) &&
      intent.fileId === record.fileId,
  );
  // The file may be gone.
  if (unsure.some(({ kind }) => kind === "detach")) return "in_doubt";
  const touched = new Set(unsure.flatMap(({ intent }) => Object.keys(intent.attributes ?? {})));
  const reported = new Map(Object.entries(record.attributes));
  const differs = ([name, value]: [string, unknown]) => touched.has(name) || reported.get(name) !== value;
  if (Object.entries(attributes).some(differs)) return "update";
  return unsure.length > 0 ? "in_doubt" : undefined;
}

/** Files desired by id that are not attached with the desired attributes: `drafts/1/product_files/11`. */
export function missingFiles(
  { drafts }: Desired,
  held: ReadonlyMap<string, { readonly attributes: Attributes }>,
): string[] {
  return drafts
    .flatMap(({ attachments }) => attachments)
    .flatMap(({ address, attributes }) => {
      if (address.ref.by !== "file_id") return [];
      const file = formatAddress(address);
      const there = held.get(file)?.attributes;
      const reported = new Map(Object.entries(there ?? {}));
      const same = Object.entries(attributes).every(([name, value]) => reported.get(name) === value);
      return there !== undefined && same ? [] : [file];
    });
}

/** Excludes detachments while the protection of a draft is removed, and a publish that depends on them. */
function excludeProtected(
  changes: Map<string, string>,
  { drafts }: Desired,
  { protectedDrafts }: Recorded,
): void {
  for (const { draftId, protect } of drafts) {
    if (protect || !protectedDrafts.has(draftId)) continue;
    const own = [...changes].filter(([address]) => address.startsWith(`drafts/${draftId}/`));
    const held = own.filter(([, action]) => action === "delete" || action === "replace");
    if (held.length > 0) held.push(...own.filter(([, action]) => action === "publish"));
    for (const [address] of held) changes.delete(address);
  }
}

/**
 * While an attachment is in doubt whose address has, or will have, another file, nothing of its draft is detached or
 * published, nor copied from that publish. The old file of a replacement is still detached.
 */
function deferForDoubts(changes: Map<string, string>, { drafts }: Desired, recorded: Recorded): void {
  const files = drafts.flatMap(({ attachments }) => attachments);
  const contents = new Map(files.map(({ address, content }) => [formatAddress(address), content?.sha256]));
  const recordedAt = new Set(recorded.attachments.map(({ address }) => address));
  const isOpen = ({ kind, address, intent }: Recorded["inDoubt"][number]) =>
    kind === "attach" &&
    (contents.has(address) ? contents.get(address) !== intent.sha256 : recordedAt.has(address));
  const waiting = new Set(
    recorded.inDoubt.filter(isOpen).map(({ address }) => address.split("/", 2).join("/")),
  );
  const halves = new Set(
    recorded.attachments.filter(({ replacedBy }) => replacedBy !== undefined).map(byFileId),
  );
  for (const [address, action] of [...changes]) {
    if (!waiting.has(address.split("/", 2).join("/")) || halves.has(address)) continue;
    if (!/^(delete|replace|publish)$/.test(action)) continue;
    changes.delete(address);
    if (
      action === "publish" &&
      address === "drafts/1/product" &&
      changes.get("duplicates/of-draft") === "duplicate"
    )
      changes.delete("duplicates/of-draft");
  }
}
