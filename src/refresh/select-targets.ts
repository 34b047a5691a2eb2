import { compareText, formatAddress, parseAddress, publicationAddress } from "../model/address.ts";
import type { Desired, DesiredAttachment } from "../model/desired.ts";
import type { Observation, RefreshMode, RefreshTarget } from "../model/observed.ts";
import type { Recorded } from "../model/recorded.ts";
import { publicationsInForce, targetOf } from "../model/recorded.ts";
import { fileResource, productResource } from "../model/resource.ts";
import { isInScope, parseScope } from "../model/scope.ts";
import { uploadNameOf, uploadNamesOf } from "../model/upload-name.ts";

/** What a refresh may fetch, and how much. */
export interface RefreshPolicy {
  readonly mode: RefreshMode;
  /** `none`: attachments are not probed. */
  readonly attachments: "none" | "probe";
  /** The most calls; `Infinity`: no limit. */
  readonly maxCalls: number;
  /** Records confirmed more recently than this are not fetched in the mode `budget`; milliseconds. */
  readonly maxAgeMs: number;
  /** Only resources at or below these addresses are fetched; absent or empty: all. */
  readonly targets?: readonly string[];
}

/** Input of {@link selectTargets}. */
export interface SelectTargetsInput {
  readonly desired: Desired;
  readonly recorded: Recorded;
  readonly policy: RefreshPolicy;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Upload ids that fit into one call. */
  readonly uploadsPerCall: number;
  /** The file id of a desired attachment, if it is known before the upload. */
  readonly fileIdOf: (attachment: DesiredAttachment) => number | undefined;
}

/** The targets in order, and the number of due resources that did not fit. */
export interface TargetSelection {
  readonly targets: readonly RefreshTarget[];
  readonly deferred: number;
}

/**
 * Selects the resources to fetch. Pure.
 *
 * ```
 *   1  what is in doubt            files of operations without an outcome, once; uploads that have not ended
 *   2  what may be there already   desired files without a record, in drafts of which nothing is recorded
 *   3  the longest unconfirmed     recorded files and products, by when they were confirmed or fetched last; what stayed in doubt
 * ```
 *
 * Attachments are included only if they may be probed. The mode `full` includes what was confirmed a moment ago, and desired
 * files without a record in every draft.
 */
export function selectTargets(input: SelectTargetsInput): TargetSelection {
  const { policy, recorded, now } = input;
  const probes = policy.attachments === "probe";
  const refreshedAt = new Map(recorded.refreshes.map(({ resource, at }) => [resource, at]));
  const doubtful = probes ? doubtfulFiles(recorded) : [];
  const isTried = ({ target, startedAt }: Doubtful) => {
    const at = refreshedAt.get(nameOf(target)) ?? 0;
    return at > startedAt && at <= now;
  };
  const tried = doubtful.filter(isTried).map(({ target }) => ({ target, confirmedAt: 0 }));
  const files = probes ? [...tried, ...recordedFiles(recorded)] : [];
  const due = withoutRepetition([
    ...doubtful.filter((each) => !isTried(each)).map(({ target }) => target),
    ...pendingUploads(input),
    ...(probes ? unrecordedFiles(input) : []),
    ...oldestFirst([...files, ...recordedProducts(recorded)], refreshedAt, input),
  ]).filter(targetFilter(policy));
  const targets = due.slice(0, policy.maxCalls);
  return { targets, deferred: countResources(due) - countResources(targets) };
}

/**
 * Uploads have no address that `--target` could name: they are included only without targets. A product is published from all
 * files of its draft, so they are read with it.
 */
function targetFilter({ targets = [] }: Pick<RefreshPolicy, "targets">): (target: RefreshTarget) => boolean {
  if (targets.length === 0) return () => true;
  const scopes = targets.flatMap((target) => parseScope(publishedFrom(target) ?? target) ?? []);
  return (target) => target.type !== "uploads" && scopes.some((scope) => isInScope(target.address, scope));
}

/** The draft of a product's address. */
function publishedFrom(target: string): string | undefined {
  const address = parseAddress(target);
  return address?.type === "publication" ? `drafts/${address.draftId}` : undefined;
}

/** The number of resources in targets: a list of uploads counts each upload. */
export function countResources(targets: readonly RefreshTarget[]): number {
  return targets.reduce((sum, target) => sum + (target.type === "uploads" ? target.uploadIds.length : 1), 0);
}

/** The number of recorded attachments and products in scope that have no readable observation. */
export function countUnchecked(
  recorded: Recorded,
  observations: readonly Observation[],
  policy: Pick<RefreshPolicy, "targets">,
): number {
  const checked = new Set(observations.filter(({ read }) => read.type !== "unreadable").map(nameOf));
  const known = [...recordedFiles(recorded), ...recordedProducts(recorded)].map(({ target }) => target);
  return withoutRepetition(known.filter(targetFilter(policy))).filter(
    (target) => !checked.has(nameOf(target)),
  ).length;
}

interface Doubtful {
  readonly target: RefreshTarget;
  /** When the call was sent. */
  readonly startedAt: number;
}

function doubtfulFiles({ inDoubt }: Recorded): Doubtful[] {
  return [...inDoubt]
    .sort((a, b) => a.startedAt - b.startedAt || compareText(a.id, b.id))
    .flatMap((operation): Doubtful[] => {
      const { address, startedAt } = operation;
      const target = targetOf(operation);
      return target === undefined ? [] : [{ target: { type: "attachment", address, target }, startedAt }];
    });
}

/** Only uploads that a desired attachment needs. */
function pendingUploads({ desired, recorded, uploadsPerCall }: SelectTargetsInput): RefreshTarget[] {
  const wanted = new Set(desired.drafts.flatMap(({ attachments }) => attachments.map(uploadNameOf)));
  const ids = recorded.uploads
    .filter(({ status }) => status === "pending")
    .filter((upload) => uploadNamesOf(upload).some((name) => wanted.has(name)))
    .map(({ uploadId }) => uploadId)
    .sort(compareText);
  const pages: RefreshTarget[] = [];
  for (let start = 0; start < ids.length; start += uploadsPerCall) {
    pages.push({ type: "uploads", uploadIds: ids.slice(start, start + uploadsPerCall) });
  }
  return pages;
}

/** Files that may have been attached before the draft was managed. */
function unrecordedFiles({ desired, recorded, policy, fileIdOf }: SelectTargetsInput): RefreshTarget[] {
  const ours = new Set([
    ...recorded.attachments.map(({ draftId }) => draftId),
    ...recorded.publications.map(({ draftId }) => draftId),
  ]);
  const known = new Set(recorded.attachments.map((attachment) => fileResource(attachment)));
  return desired.drafts
    .filter(({ draftId }) => policy.mode === "full" || !ours.has(draftId))
    .flatMap(({ attachments }) =>
      attachments.flatMap((attachment): RefreshTarget[] => {
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
  readonly target: RefreshTarget;
  /** Epoch milliseconds; 0: never, as of what is still in doubt. */
  readonly confirmedAt: number;
}

function oldestFirst(
  things: readonly Aged[],
  refreshedAt: ReadonlyMap<string, number>,
  { policy, now }: Pick<SelectTargetsInput, "policy" | "now">,
): RefreshTarget[] {
  // A time in the future comes from a wrong clock, and says nothing.
  const past = (at: number) => (at > now ? 0 : at);
  const isDue = ({ confirmedAt }: Aged) =>
    policy.mode === "full" || now - past(confirmedAt) >= policy.maxAgeMs;
  return things
    .filter(isDue)
    .map(({ target, confirmedAt }) => {
      return { target, at: Math.max(past(confirmedAt), past(refreshedAt.get(nameOf(target)) ?? 0)) };
    })
    .sort((a, b) => a.at - b.at || byName(a.target, b.target))
    .map(({ target }) => target);
}

function recordedFiles({ attachments }: Recorded): Aged[] {
  return attachments.map(({ draftId, kind, fileId, address, provenance }) => ({
    target: { type: "attachment", address, target: { draftId, kind, fileId } },
    confirmedAt: provenance.at,
  }));
}

/** Each current product, once per address; products of earlier revisions are not checked. */
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
    target: { type: "product", address, productId },
    confirmedAt: provenance.at,
  }));
}

/** A resource may have several addresses: it is fetched under the first. */
function byName(a: RefreshTarget, b: RefreshTarget): number {
  return compareText(nameOf(a), nameOf(b)) || compareText(addressOf(a), addressOf(b));
}

function addressOf(target: RefreshTarget): string {
  return target.type === "uploads" ? "" : target.address;
}

function withoutRepetition(targets: readonly RefreshTarget[]): RefreshTarget[] {
  const first = new Map<string, RefreshTarget>();
  for (const target of targets) {
    const name = nameOf(target);
    if (!first.has(name)) first.set(name, target);
  }
  return [...first.values()];
}

/** The path of what is read; of uploads, their ids. */
export function nameOf(target: RefreshTarget): string {
  switch (target.type) {
    case "attachment":
      return fileResource(target.target);
    case "product":
      return productResource(target.productId);
    case "uploads":
      return `uploads/${target.uploadIds.join(",")}`;
  }
}
