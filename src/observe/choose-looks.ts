import { compareText, formatAddress, publicationAddress } from "../model/address.ts";
import type { Desired, DesiredAttachment } from "../model/desired.ts";
import type { Look, RefreshMode, Sighting } from "../model/observed.ts";
import type { Recorded } from "../model/recorded.ts";
import { publicationsInForce } from "../model/recorded.ts";
import { fileResource, productResource } from "../model/resource.ts";
import { isInScope, parseScope } from "../model/scope.ts";
import { targetOf } from "./file-index.ts";

/** What may be looked at, and how much of it. */
export interface LookPolicy {
  readonly mode: RefreshMode;
  /** `none`: attachments are taken from the ledger. */
  readonly attachments: "none" | "probe";
  /** Calls that looking may take, within the budget. */
  readonly maxCalls: number;
  /** What was confirmed since then is not looked at, within the budget; milliseconds. */
  readonly maxAgeMs: number;
  /** Only what is at these addresses, or below them, is looked at; absent or empty: everything. */
  readonly targets?: readonly string[];
}

/** Everything the choice depends on. */
export interface LookInput {
  readonly desired: Desired;
  readonly recorded: Recorded;
  readonly policy: LookPolicy;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Upload ids that fit into one call. */
  readonly uploadsPerCall: number;
  /** The file id of a desired attachment, as far as it is known before anything is uploaded. */
  readonly fileIdOf: (attachment: DesiredAttachment) => number | undefined;
}

/** What is looked at, in this order, and how many things that are due did not fit. */
export interface LookChoice {
  readonly looks: readonly Look[];
  readonly left: number;
}

/**
 * Decides what to look at. Pure.
 *
 * ```
 *   1  what is in doubt            files of operations without an outcome; uploads that have not ended
 *   2  what may be there already   desired files without a record, in drafts of which nothing is recorded
 *   3  the longest unconfirmed     recorded files and products, by when they were confirmed or looked at last
 * ```
 *
 * Attachments take part only where they may be probed. Looking at everything has no limits, and takes the desired files
 * without a record in every draft.
 */
export function chooseLooks(input: LookInput): LookChoice {
  const { policy } = input;
  const due = withoutRepetition([
    ...(policy.attachments === "probe" ? doubtfulFiles(input.recorded) : []),
    ...pendingUploads(input),
    ...(policy.attachments === "probe" ? unrecordedFiles(input) : []),
    ...oldestFirst(input),
  ]).filter(targetFilter(policy));
  const looks = policy.mode === "full" ? due : due.slice(0, policy.maxCalls);
  return { looks, left: countThings(due) - countThings(looks) };
}

/** Uploads have no address that a target could name: they come with everything. */
function targetFilter({ targets = [] }: LookPolicy): (look: Look) => boolean {
  if (targets.length === 0) return () => true;
  const scopes = targets.flatMap((target) => parseScope(target) ?? []);
  return (look) => look.type !== "uploads" && scopes.some((scope) => isInScope(look.address, scope));
}

/** How many things looks are about: a page of uploads is about each of them. */
export function countThings(looks: readonly Look[]): number {
  return looks.reduce((sum, look) => sum + (look.type === "uploads" ? look.uploadIds.length : 1), 0);
}

/** How many recorded attachments and products within the targets no sighting says anything about. */
export function countUnchecked(
  recorded: Recorded,
  sightings: readonly Sighting[],
  policy: LookPolicy,
): number {
  const checked = new Set(sightings.filter(({ finding }) => finding.type !== "unreadable").map(nameOf));
  const known = [...recordedFiles(recorded), ...recordedProducts(recorded)].map(({ look }) => look);
  return withoutRepetition(known.filter(targetFilter(policy))).filter((look) => !checked.has(nameOf(look)))
    .length;
}

function doubtfulFiles({ inDoubt }: Recorded): Look[] {
  return [...inDoubt]
    .sort((a, b) => a.startedAt - b.startedAt || compareText(a.id, b.id))
    .flatMap((operation) => {
      const target = targetOf(operation);
      return target === undefined
        ? []
        : [{ type: "attachment", address: operation.address, target } as const];
    });
}

/** Only those that a desired attachment waits for. */
function pendingUploads({ desired, recorded, uploadsPerCall }: LookInput): Look[] {
  const wanted = new Set(desired.drafts.flatMap(({ attachments }) => attachments.map(uploadNameOf)));
  const ids = recorded.uploads
    .filter(({ status }) => status === "pending")
    .filter(
      ({ uploadId, uploadKey, source, sha256 }) =>
        wanted.has(`upload_id ${uploadId}`) ||
        wanted.has(source === undefined ? `upload_key ${uploadKey}` : `source ${sha256} ${source}`),
    )
    .map(({ uploadId }) => uploadId)
    .sort(compareText);
  const pages: Look[] = [];
  for (let start = 0; start < ids.length; start += uploadsPerCall) {
    pages.push({ type: "uploads", uploadIds: ids.slice(start, start + uploadsPerCall) });
  }
  return pages;
}

function uploadNameOf({ address: { ref }, content }: DesiredAttachment): string {
  switch (ref.by) {
    case "file_id":
      return "";
    case "source":
      return `source ${content?.sha256} ${ref.source}`;
    case "upload_id":
      return `upload_id ${ref.uploadId}`;
    case "upload_key":
      return `upload_key ${ref.uploadKey}`;
  }
}

/** Files that somebody may have attached by hand before the draft came under management. */
function unrecordedFiles({ desired, recorded, policy, fileIdOf }: LookInput): Look[] {
  const ours = new Set([
    ...recorded.attachments.map(({ draftId }) => draftId),
    ...recorded.publications.map(({ draftId }) => draftId),
  ]);
  const known = new Set(recorded.attachments.map((attachment) => fileResource(attachment)));
  return desired.drafts
    .filter(({ draftId }) => policy.mode === "full" || !ours.has(draftId))
    .flatMap(({ attachments }) =>
      attachments.flatMap((attachment): Look[] => {
        const fileId = fileIdOf(attachment);
        if (fileId === undefined) return [];
        const { draftId, kind } = attachment.address;
        const target = { draftId, kind, fileId };
        if (known.has(fileResource(target))) return [];
        return [{ type: "attachment", address: formatAddress(attachment.address), target }];
      }),
    )
    .sort(byName);
}

interface Aged {
  readonly look: Look;
  readonly confirmedAt: number;
}

function oldestFirst({ recorded, policy, now }: LookInput): Look[] {
  const lookedAt = new Map(recorded.looks.map(({ resource, at }) => [resource, at]));
  const things: Aged[] = [
    ...(policy.attachments === "probe" ? recordedFiles(recorded) : []),
    ...recordedProducts(recorded),
  ];
  const isDue = ({ confirmedAt }: Aged) => {
    const age = now - confirmedAt;
    // A confirmation by a clock that was ahead has no age that could be relied on.
    return policy.mode === "full" || age >= policy.maxAgeMs || age < 0;
  };
  return things
    .filter(isDue)
    .map(({ look, confirmedAt }) => {
      return { look, at: Math.max(confirmedAt, lookedAt.get(nameOf(look)) ?? 0) };
    })
    .sort((a, b) => a.at - b.at || byName(a.look, b.look))
    .map(({ look }) => look);
}

function recordedFiles({ attachments }: Recorded): Aged[] {
  return attachments.map(({ draftId, kind, fileId, address, provenance }) => ({
    look: { type: "attachment", address, target: { draftId, kind, fileId } },
    confirmedAt: provenance.at,
  }));
}

/** A product in force once for each of its addresses: what was published before it is nobody's concern any more. */
function recordedProducts(recorded: Recorded): Aged[] {
  const all = [
    ...[...publicationsInForce(recorded).values()].map(({ draftId, productId, provenance }) => ({
      address: publicationAddress(draftId),
      productId,
      provenance,
    })),
    ...recorded.duplicates.map(({ name, productId, provenance }) => ({
      address: `duplicates/${name}`,
      productId,
      provenance,
    })),
  ];
  return all.map(({ address, productId, provenance }) => ({
    look: { type: "product", address, productId },
    confirmedAt: provenance.at,
  }));
}

/** One thing may have several addresses: the first is the one it is looked at under. */
function byName(a: Look, b: Look): number {
  return compareText(nameOf(a), nameOf(b)) || compareText(addressOf(a), addressOf(b));
}

function addressOf(look: Look): string {
  return look.type === "uploads" ? "" : look.address;
}

function withoutRepetition(looks: readonly Look[]): Look[] {
  const first = new Map<string, Look>();
  for (const look of looks) {
    const name = nameOf(look);
    if (!first.has(name)) first.set(name, look);
  }
  return [...first.values()];
}

function nameOf(look: Look): string {
  switch (look.type) {
    case "attachment":
      return fileResource(look.target);
    case "product":
      return productResource(look.productId);
    case "uploads":
      return `uploads/${look.uploadIds.join(",")}`;
  }
}
