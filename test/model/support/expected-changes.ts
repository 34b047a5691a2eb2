import { formatAddress } from "../../../src/model/address.ts";
import type { Desired, DesiredAttachment } from "../../../src/model/desired.ts";
import type { Recorded, RecordedAttachment } from "../../../src/model/recorded.ts";

/**
 * A minimal difference of desired and recorded, for manifests that name files by id or by source and that
 * rename nothing: `create drafts/1/product_files/11`, sorted. Independent of the planner, which is compared with it.
 */
export function expectedChanges(desired: Desired, recorded: Recorded): string[] {
  const assumed = assumeAttached(recorded);
  const changes = new Map<string, string>([
    ...attachmentChanges(desired, assumed),
    ...draftChanges(desired, recorded),
    ...duplicateChanges(desired, recorded),
  ]);
  const open = new Set<string>();
  for (const { kind, address } of recorded.inDoubt) {
    if (!/^(attach|publish|duplicate)$/.test(kind)) continue;
    // What settles the doubt sets other values as well.
    const isOpen = (changes.get(address) ?? "update") !== "update";
    if (kind === "attach" && isOpen) open.add(headOf(address));
    changes.set(address, "in_doubt");
  }
  excludeProtected(changes, desired, recorded);
  deferForDoubts(changes, open);
  return [...changes].map(([address, action]) => `${action} ${address}`).sort();
}

/** Whether a content has been, or may be, at the other source: what follows from that is not modeled. */
export function movesContent({ drafts }: Desired, { attachments, inDoubt }: Recorded): boolean {
  const places = new Map<string, string>();
  const seen = [
    ...drafts.flatMap((draft) =>
      draft.attachments.map(({ address, content }) => [formatAddress(address), content?.sha256]),
    ),
    ...attachments.map(({ address, sha256 }) => [address, sha256]),
    ...inDoubt.map(({ address, intent }) => [address, intent.sha256]),
  ];
  return seen.some(([address = "", sha256]) => {
    if (sha256 === undefined) return false;
    const place = places.get(sha256) ?? address;
    places.set(sha256, place);
    return place !== address;
  });
}

/** What is recorded if every attachment in doubt took effect. */
function assumeAttached(recorded: Recorded): Recorded {
  let { attachments, inDoubt } = recorded;
  for (const { kind, address, intent, startedAt } of recorded.inDoubt) {
    const { draftId, fileKind, fileId, attributes = {}, sha256 } = intent;
    if (kind !== "attach" || draftId === undefined || fileKind === undefined || fileId === undefined)
      continue;
    const file = { draftId, kind: fileKind, fileId, address, attributes, ...(sha256 && { sha256 }) };
    attachments = attachments
      .filter((each) => byFileId(each) !== byFileId({ draftId, kind: fileKind, fileId }))
      .map((each) => (each.address === address ? { ...each, address: byFileId(each) } : each));
    attachments = [...attachments, { ...file, provenance: { by: "post", at: startedAt } }];
    inDoubt = inDoubt.filter((each) => each.intent.draftId !== draftId || each.intent.fileId !== fileId);
  }
  return { ...recorded, attachments, inDoubt };
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
    known.delete(taker.address);
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

/** A file with the desired content that takes over the address of a desired source. */
function takerOf(
  { address, content }: DesiredAttachment,
  record: RecordedAttachment | undefined,
  { attachments }: Recorded,
): RecordedAttachment | undefined {
  if (content === undefined || record?.sha256 === content.sha256) return undefined;
  return attachments.find(({ draftId, sha256 }) => draftId === address.draftId && sha256 === content.sha256);
}

/** A file that may have been detached is checked first. */
function takingOf({ fileId }: RecordedAttachment, { inDoubt }: Recorded): string {
  const isDetaching = inDoubt.some(({ kind, intent }) => kind === "detach" && intent.fileId === fileId);
  return isDetaching ? "in_doubt" : "adopt";
}

function byFileId({
  draftId,
  kind,
  fileId,
}: Pick<RecordedAttachment, "draftId" | "kind" | "fileId">): string {
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
    for (const [address] of held) changes.delete(address);
    if (held.length > 0) deferPublish(changes, `drafts/${draftId}`);
  }
}

/**
 * What else a draft with a file in doubt needs waits, and so do its publish and what copies that, unless all its files in
 * doubt are wanted, and only further files are attached or updated.
 */
function deferForDoubts(changes: Map<string, string>, open: ReadonlySet<string>): void {
  const files = [...changes].filter(([address]) => /_files\//.test(address));
  const doubtful = new Set(
    files.filter(([, action]) => action === "in_doubt").map(([address]) => headOf(address)),
  );
  for (const head of doubtful) {
    const own = files.filter(([address, action]) => headOf(address) === head && action !== "in_doubt");
    if (!open.has(head) && own.every(([, action]) => /^(create|update)$/.test(action))) continue;
    for (const [address] of own) changes.delete(address);
    deferPublish(changes, head);
  }
}

/** A publish that waits, and what copies its product. */
function deferPublish(changes: Map<string, string>, head: string): void {
  if (changes.get(`${head}/product`) !== "publish") return;
  changes.delete(`${head}/product`);
  if (head === "drafts/1" && changes.get("duplicates/of-draft") === "duplicate")
    changes.delete("duplicates/of-draft");
}

/** `drafts/1` of `drafts/1/product_files/11`. */
function headOf(address: string): string {
  return address.split("/", 2).join("/");
}
