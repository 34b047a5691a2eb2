import { compareText } from "../model/address.ts";
import { type AttachmentState, orderState } from "../model/change.ts";
import { attachmentsByAddress, type Desired, type DesiredAttachment } from "../model/desired.ts";
import { type Drift, targetOfDrift } from "../model/drift.ts";
import { lazily } from "../model/lazily.ts";
import type { Observation, Observed } from "../model/observed.ts";
import type { CallFailure } from "../model/outcome.ts";
import type { LedgerEffect, UploadStatus } from "../model/ports.ts";
import {
  confirmedState,
  isLeftOver,
  type Provenance,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
  type RecordedUpload,
} from "../model/recorded.ts";
import {
  type Attributes,
  attributeNames,
  fileResource,
  isSameValue,
  mergeAttributes,
  productResource,
} from "../model/resource.ts";
import { isoTime } from "../model/time.ts";
import {
  effectsOfAttachment,
  effectsOfUpdates,
  onceRead,
  unrecordedFile,
  withoutDoubtful,
} from "../model/unsettled.ts";
import { digestsOfFiles, otherObjectFailure, uploadEndEffects } from "../model/upload-name.ts";
import { hasTakenEffect, hasValuesOf, returnsAll, settlement } from "./doubt-outcome.ts";
import { neverMade } from "./fetch-targets.ts";
import { type FileIndex, indexFiles } from "./file-index.ts";

/** Input of {@link detectDrift}. */
export interface DetectDriftInput {
  readonly observations: readonly Observation[];
  readonly desired: Desired;
  readonly recorded: Recorded;
  /** How long a lost call may still take effect, milliseconds; an earlier observation proves nothing about it. */
  readonly settleDelayMs: number;
}

/** What the observations show. */
export type DetectedDrift = Pick<Observed, "drift" | "confirmations" | "unreadable">;

type FileObservation = Extract<Observation, { type: "attachment" }>;
type Part = Partial<DetectedDrift>;

/**
 * Compares observations with the ledger. Pure.
 *
 * | observed | recorded | in doubt, for long enough | neither |
 * |---|---|---|---|
 * | present, as recorded | confirmed | the doubt is settled by the observation | found |
 * | present, a managed attribute differs | changed | the same | found |
 * | absent | gone | a detachment took effect; of an attachment it proves nothing | – |
 * | unreadable | the ledger stays as it is | the same | – |
 *
 * An attach or update in doubt is settled only by a response that returns every attribute of it. A difference is drift; the
 * ledger records it when the plan that shows it is applied. An attribute that no manifest manages is not drift: its new
 * value is recorded at once.
 */
export function detectDrift(input: DetectDriftInput): DetectedDrift {
  const { desired, recorded, settleDelayMs } = input;
  const index = {
    ...indexFiles(recorded),
    desired: attachmentsByAddress(desired),
    recorded,
    uploads: lazily(() => new Map(recorded.uploads.map((upload) => [upload.uploadId, upload]))),
    digests: lazily(() => digestsOfFiles(recorded)),
    settleDelayMs,
  };
  const parts = input.observations.map((observation) => driftOf(observation, index));
  const rankOf = ({ type }: LedgerEffect) => (type === "attached" ? 1 : 0);
  // What confirms a file at its recorded address comes before what gives that address to another one.
  const effects = parts.flatMap((part) => part.confirmations ?? []);
  const confirmations = effects.sort((a, b) => rankOf(a) - rankOf(b));
  return {
    drift: parts
      .flatMap(({ drift = [] }) => drift)
      .map(readdressed(confirmations))
      .sort(inOrder),
    confirmations,
    unreadable: parts
      .flatMap(({ unreadable = [] }) => unreadable)
      .sort((a, b) => compareText(a.address, b.address)),
  };
}

/** A file gives its address up when a doubt about another one is settled by the same refresh. */
function readdressed(confirmations: readonly LedgerEffect[]): (drift: Drift) => Drift {
  const files = new Map(
    confirmations.flatMap((effect) =>
      effect.type === "attached" ? [[effect.attachment.address, fileResource(effect.attachment)]] : [],
    ),
  );
  return (drift) => {
    if (drift.type !== "changed" && drift.type !== "gone") return drift;
    const file = fileResource(targetOfDrift(drift));
    return (files.get(drift.address) ?? file) === file ? drift : { ...drift, address: file };
  };
}

/** By address. One address may have several drifts: a product of each revision, or one file replaced by another. */
function inOrder(a: Drift, b: Drift): number {
  return (
    compareText(a.address, b.address) ||
    compareText(a.type, b.type) ||
    (a.type === "product_gone" && b.type === "product_gone" ? a.before.product_id - b.before.product_id : 0)
  );
}

interface Index extends FileIndex {
  readonly desired: ReadonlyMap<string, DesiredAttachment>;
  readonly recorded: Recorded;
  /** By their ids. */
  readonly uploads: () => ReadonlyMap<string, RecordedUpload>;
  /** Of the local files that files were made from, by file id. */
  readonly digests: () => Map<number, string>;
  readonly settleDelayMs: number;
}

function driftOf(observation: Observation, index: Index): Part {
  switch (observation.type) {
    case "attachment":
      return driftOfFile(observation, index);
    case "product":
      return driftOfProduct(observation, index);
    case "uploads":
      return driftOfUploads(observation, index);
  }
}

function driftOfFile(observation: FileObservation, index: Index): Part {
  const { address, target, at, read } = observation;
  const resource = fileResource(target);
  const refreshed: LedgerEffect = { type: "refreshed", resource, at };
  const record = index.records.get(resource);
  const doubts = index.doubts.get(resource) ?? [];
  const noted = record === undefined && doubts.length === 0 ? [] : [refreshed];
  if (read.type === "unreadable")
    return { confirmations: noted, unreadable: [{ address, failure: read.failure }] };
  if (doubts.length > 0)
    return driftOfDoubtful(observation, { record, doubts, index }) ?? { confirmations: noted };
  if (read.type === "present") {
    return record === undefined
      ? found(observation, index, read.value)
      : compare(observation, record, { index, returned: read.value });
  }
  return record === undefined ? { confirmations: [refreshed] } : { drift: [gone(record, at)] };
}

function gone(record: RecordedAttachment, at: number): Drift {
  return {
    address: record.address,
    type: "gone",
    before: stateOf(record),
    after: null,
    attributes: [],
    confirmed: confirmedState(record.provenance),
    observed_at: isoTime(at),
  };
}

/** A file that is attached and not recorded matters only if a manifest declares it. */
function found({ address, target, at }: FileObservation, { desired }: Index, returned: Attributes): Part {
  const attachment = desired.get(address);
  if (attachment === undefined) return {};
  const { content } = attachment;
  const { ref } = attachment.address;
  const after = orderState({
    file_id: target.fileId,
    ...(ref.by === "source" ? { source: ref.source } : {}),
    ...(content === undefined ? {} : { sha256: content.sha256 }),
    ...mergeAttributes(target.kind, {}, returned),
  });
  const drift: Drift = {
    address,
    type: "found",
    before: null,
    after,
    attributes: attributeNames[target.kind].filter((name) => after[name] !== undefined),
    confirmed: null,
    observed_at: isoTime(at),
  };
  return { drift: [drift] };
}

/** Only attributes that are known on both sides and managed can differ; a service may return none. */
function compare(
  { target, at }: FileObservation,
  record: RecordedAttachment,
  { index, returned }: { readonly index: Index; readonly returned: Attributes },
): Part {
  const attachment = index.desired.get(record.address) ?? index.desired.get(fileResource(target));
  // Nothing manages a file that waits to be detached or to be taken by another entry, or for the doubt about that to be settled.
  const { provenance } = record;
  const known = withoutDoubtful(record);
  const declared = attachment?.attributes ?? (isLeftOver(record) ? {} : known);
  const managed = index.replaced.has(fileResource(target)) ? {} : declared;
  const differing = attributeNames[target.kind].filter((name) => {
    const [seen, recorded] = [returned[name], known[name]];
    const isKnown = managed[name] !== undefined && seen !== undefined && recorded !== undefined;
    return isKnown && !isSameValue(recorded, seen);
  });
  const confirmed = onceRead(target.kind, record, { returned, read: { by: "probe", at } });
  if (differing.length === 0)
    return { confirmations: [{ type: "rerecorded", attachment: { ...record, ...confirmed } }] };
  const drift: Drift = {
    address: record.address,
    type: "changed",
    before: stateOf(record),
    after: stateOf({ ...record, attributes: confirmed.attributes }),
    attributes: differing,
    confirmed: confirmedState(provenance),
    observed_at: isoTime(at),
  };
  return { drift: [drift] };
}

interface Doubtful {
  readonly record: RecordedAttachment | undefined;
  readonly doubts: readonly RecordedOperation[];
  readonly index: Index;
}

/** `undefined` while the observation proves nothing: the next apply settles it. */
function driftOfDoubtful(
  observation: FileObservation,
  { record, doubts, index }: Doubtful,
): Part | undefined {
  const { target, at, read } = observation;
  const isPresent = read.type === "present";
  const returned = read.type === "present" ? read.value : {};
  const provenance: Provenance = { by: "probe", at };
  const attach = doubts.find(({ kind }) => kind === "attach");
  // A lost call that is still in flight may change the resource after this observation.
  if (doubts.some(({ startedAt, finishedAt = startedAt }) => at < finishedAt + index.settleDelayMs)) {
    return undefined;
  }
  if (isPresent && doubts.some((doubt) => !returnsAll(returned, doubt))) return undefined;
  const others = doubts.filter(({ kind }) => kind !== "attach");
  if (attach !== undefined) {
    if (!isPresent) return undefined;
    const file = { ...target, attributes: mergeAttributes(target.kind, {}, returned), provenance };
    return {
      confirmations: [
        ...effectsOfAttachment(attach, file, hasValuesOf(attach, read)),
        ...doubts.map((doubt) => settlement(doubt, read)),
      ],
    };
  }
  const settlements = others.map((doubt) => settlement(doubt, read));
  const { attachments } = index.recorded;
  if (record === undefined) {
    const [last] = isPresent ? others.slice(-1) : [];
    if (last === undefined) return { confirmations: settlements };
    const file = unrecordedFile(target, last, attachments);
    const attachment = { ...file, attributes: mergeAttributes(target.kind, {}, returned), provenance };
    return { confirmations: [{ type: "attached", attachment }, ...settlements] };
  }
  if (!isPresent) {
    // Removed outside draftsync, unless our own detach took effect.
    return others.some(({ kind }) => kind === "detach")
      ? { confirmations: [{ type: "detached", target }, ...settlements] }
      : { drift: [gone(record, at)], confirmations: settlements };
  }
  const confirmed = onceRead(target.kind, record, { returned, read: provenance });
  const last = others
    .filter((doubt) => hasTakenEffect(doubt, read))
    .sort((a, b) => a.startedAt - b.startedAt)
    .at(-1);
  return { confirmations: [...effectsOfUpdates(record, confirmed, last, attachments), ...settlements] };
}

function driftOfProduct(observation: Extract<Observation, { type: "product" }>, { recorded }: Index): Part {
  const { address, productId, at, read } = observation;
  const refreshed: LedgerEffect = { type: "refreshed", resource: productResource(productId), at };
  switch (read.type) {
    case "present":
      return { confirmations: [{ type: "product_confirmed", productId, provenance: { by: "get", at } }] };
    case "unreadable":
      return { confirmations: [refreshed], unreadable: [{ address, failure: read.failure }] };
    case "absent": {
      const products = [...recorded.publications, ...recorded.duplicates];
      const known = products.find((product) => product.productId === productId);
      const gone: Drift = {
        address,
        type: "product_gone",
        before: { product_id: productId },
        after: null,
        attributes: [],
        confirmed: known === undefined ? null : confirmedState(known.provenance),
        observed_at: isoTime(at),
      };
      return { drift: [gone], confirmations: [refreshed] };
    }
  }
}

/**
 * An upload that could not be read counts as neither ended nor gone. One that draftsync registered, and the service does not know
 * any more, has failed: the next apply registers it again, if an entry needs it.
 */
function driftOfUploads(
  { uploadIds, read }: Extract<Observation, { type: "uploads" }>,
  index: Pick<Index, "uploads" | "digests">,
): Part {
  if (read.type === "absent") return {};
  if (read.type === "unreadable")
    return { unreadable: uploadIds.map((id) => ({ address: `uploads/${id}`, failure: read.failure })) };
  const { missing, uploads } = read.value;
  const recordOf = (uploadId: string): Partial<RecordedUpload> => index.uploads().get(uploadId) ?? {};
  const failureOf = (upload: UploadStatus) =>
    otherObjectFailure(upload, recordOf(upload.uploadId), index.digests());
  const isGone = ({ uploadId, failure }: { uploadId: string; failure: CallFailure }) =>
    failure.code === "gone" && recordOf(uploadId).uploadKey !== undefined;
  const unread = [
    ...missing.filter((each) => !neverMade.has(each.failure.code) && !isGone(each)),
    ...uploads.map((upload) => ({ uploadId: upload.uploadId, failure: failureOf(upload) })),
  ];
  return {
    unreadable: unread.flatMap(({ uploadId, failure }) =>
      failure === undefined ? [] : [{ address: `uploads/${uploadId}`, failure }],
    ),
    confirmations: [
      ...missing.filter(isGone).map(({ uploadId }) => ({ uploadId, status: "failed" }) as const),
      ...uploads.filter((upload) => uploadIds.includes(upload.uploadId) && failureOf(upload) === undefined),
    ].flatMap(uploadEndEffects),
  };
}

function stateOf({ fileId, sha256, attributes }: RecordedAttachment): AttachmentState {
  return orderState({ file_id: fileId, ...(sha256 === undefined ? {} : { sha256 }), ...attributes });
}
