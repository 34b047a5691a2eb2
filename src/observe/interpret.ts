import { compareText } from "../model/address.ts";
import { orderState } from "../model/attachment-state.ts";
import type { AttachmentState } from "../model/change.ts";
import type { Desired, DesiredAttachment } from "../model/desired.ts";
import { attachmentsByAddress } from "../model/desired.ts";
import type { Drift } from "../model/drift.ts";
import type { Observed, Sighting } from "../model/observed.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { Provenance, Recorded, RecordedAttachment, RecordedOperation } from "../model/recorded.ts";
import { confirmedState } from "../model/recorded.ts";
import type { Attributes } from "../model/resource.ts";
import { attributeNames, fileResource, productResource } from "../model/resource.ts";
import { isoTime } from "../model/time.ts";
import { type FileIndex, indexFiles } from "./file-index.ts";
import { neverMade } from "./look-around.ts";
import { mergeTold } from "./merge-told.ts";

/** What sightings are held against. */
export interface InterpretInput {
  readonly sightings: readonly Sighting[];
  readonly desired: Desired;
  readonly recorded: Recorded;
  /** How long a lost call may still take effect, milliseconds: what is seen before says nothing about it. */
  readonly settleDelayMs: number;
}

/** What sightings mean. */
export type Interpretation = Pick<Observed, "drift" | "confirmations" | "unreadable">;

type FileSighting = Extract<Sighting, { type: "attachment" }>;
type Part = Partial<Interpretation>;

/**
 * Holds what was seen against what is recorded. Pure.
 *
 * | seen | recorded | in doubt, for long enough | neither |
 * |---|---|---|---|
 * | present, as recorded | confirmed | the doubt is settled by what was seen | found |
 * | present, a managed attribute differs | changed | the same | found |
 * | absent | gone | a detachment took effect; of an attachment it proves nothing | – |
 * | unreadable | the ledger's word stands | the same | – |
 *
 * An update in doubt is settled only by an answer that tells every attribute it was to set. What is found to be
 * otherwise is drift, and enters the ledger with the plan that tells it. An attribute that no manifest manages is no
 * drift: its new value is noted.
 */
export function interpret(input: InterpretInput): Interpretation {
  const index = indexInput(input);
  const parts = input.sightings.map((sighting) => interpretOne(sighting, index));
  return {
    drift: parts.flatMap(({ drift = [] }) => drift).sort(inOrder),
    confirmations: parts.flatMap(({ confirmations = [] }) => confirmations),
    unreadable: parts
      .flatMap(({ unreadable = [] }) => unreadable)
      .sort((a, b) => compareText(a.address, b.address)),
  };
}

/** By address; one address may have lost a product of each revision, or one file to another. */
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
  readonly settleDelayMs: number;
}

function indexInput({ desired, recorded, settleDelayMs }: InterpretInput): Index {
  return {
    ...indexFiles(recorded),
    desired: attachmentsByAddress(desired),
    recorded,
    settleDelayMs,
  };
}

function interpretOne(sighting: Sighting, index: Index): Part {
  switch (sighting.type) {
    case "attachment":
      return interpretFile(sighting, index);
    case "product":
      return interpretProduct(sighting, index);
    case "uploads":
      return interpretUploads(sighting);
  }
}

function interpretFile(sighting: FileSighting, index: Index): Part {
  const { address, target, at, finding } = sighting;
  const resource = fileResource(target);
  const looked: LedgerEffect = { type: "looked_at", resource, at };
  const record = index.records.get(resource);
  const doubts = index.doubts.get(resource) ?? [];
  const noted = record === undefined ? [] : [looked];
  if (finding.type === "unreadable") {
    return { confirmations: noted, unreadable: [{ address, failure: finding.failure }] };
  }
  if (doubts.length > 0)
    return interpretDoubt(sighting, { record, doubts, index }) ?? { confirmations: noted };
  if (finding.type === "present") {
    return record === undefined
      ? found(sighting, index, finding.value)
      : compare(sighting, record, { index, told: finding.value });
  }
  return record === undefined ? {} : { drift: [gone(record, at)], confirmations: [looked] };
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

/** A file that is attached and not recorded is news only where a manifest asks for it. */
function found({ address, target, at }: FileSighting, { desired }: Index, told: Attributes): Part {
  const attachment = desired.get(address);
  if (attachment === undefined) return {};
  const { content } = attachment;
  const { ref } = attachment.address;
  const after = orderState({
    file_id: target.fileId,
    ...(ref.by === "source" ? { source: ref.source } : {}),
    ...(content === undefined ? {} : { sha256: content.sha256 }),
    ...mergeTold(target.kind, {}, told),
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

/** Only attributes that are known on both sides and managed can differ; a service may tell none. */
function compare(
  { target, at }: FileSighting,
  record: RecordedAttachment,
  { index, told }: { readonly index: Index; readonly told: Attributes },
): Part {
  const attachment = index.desired.get(record.address) ?? index.desired.get(fileResource(target));
  const managed = attachment?.attributes ?? record.attributes;
  const { attributes: known, provenance } = record;
  const differing = attributeNames[target.kind].filter((name) => {
    const [seen, recorded] = [told[name], known[name]];
    return managed[name] !== undefined && seen !== undefined && recorded !== undefined && seen !== recorded;
  });
  const attributes = mergeTold(target.kind, known, told);
  if (differing.length === 0) {
    const confirmed = { ...record, attributes, provenance: { by: "probe", at } as const };
    return { confirmations: [{ type: "rerecorded", attachment: confirmed }] };
  }
  const drift: Drift = {
    address: record.address,
    type: "changed",
    before: stateOf(record),
    after: stateOf({ ...record, attributes }),
    attributes: differing,
    confirmed: confirmedState(provenance),
    observed_at: isoTime(at),
  };
  return { drift: [drift], confirmations: [{ type: "looked_at", resource: fileResource(target), at }] };
}

interface Doubtful {
  readonly record: RecordedAttachment | undefined;
  readonly doubts: readonly RecordedOperation[];
  readonly index: Index;
}

/** `undefined` while what was seen proves nothing: the next apply finds out. */
function interpretDoubt(sighting: FileSighting, { record, doubts, index }: Doubtful): Part | undefined {
  const { target, at, finding } = sighting;
  const isPresent = finding.type === "present";
  const told = finding.type === "present" ? finding.value : {};
  const provenance: Provenance = { by: "probe", at };
  const attach = doubts.find(({ kind }) => kind === "attach");
  // Lost calls that are still on their way may yet change what was seen.
  const others = doubts.filter(({ kind }) => kind !== "attach");
  if (others.some(({ startedAt, finishedAt = startedAt }) => at < finishedAt + index.settleDelayMs)) {
    return undefined;
  }
  if (isPresent && others.some((doubt) => !tells(told, doubt))) return undefined;
  if (attach !== undefined) {
    if (!isPresent) return undefined;
    const { sha256 } = attach.intent;
    const attachment = {
      ...target,
      address: attach.address,
      attributes: mergeTold(target.kind, {}, told),
      ...(sha256 === undefined ? {} : { sha256 }),
      provenance,
    };
    return {
      confirmations: [
        { type: "attached", attachment },
        ...doubts.map((doubt) => settled(doubt, told, isPresent)),
      ],
    };
  }
  const settlements = others.map((doubt) => settled(doubt, told, isPresent));
  if (record === undefined) return { confirmations: settlements };
  if (!isPresent) {
    // Somebody else took it away, unless it was us.
    return others.some(({ kind }) => kind === "detach")
      ? { confirmations: [{ type: "detached", target }, ...settlements] }
      : { drift: [gone(record, at)], confirmations: settlements };
  }
  const attributes = mergeTold(target.kind, record.attributes, told);
  return {
    confirmations: [
      { type: "rerecorded", attachment: { ...record, attributes, provenance } },
      ...settlements,
    ],
  };
}

/** Whether an answer says anything about each attribute that an operation was to set. */
function tells(told: Attributes, { kind, intent }: RecordedOperation): boolean {
  const names = new Set(Object.keys(told));
  return kind !== "update" || Object.keys(intent.attributes ?? {}).every((name) => names.has(name));
}

function settled(
  { id, kind, intent }: RecordedOperation,
  told: Attributes,
  isPresent: boolean,
): LedgerEffect {
  const wished = Object.entries(intent.attributes ?? {});
  const seen = new Map(Object.entries(told));
  const tookEffect =
    kind === "detach"
      ? !isPresent
      : isPresent && (kind === "attach" || wished.every(([name, value]) => seen.get(name) === value));
  return { type: "settled", operationId: id, outcome: tookEffect ? "done" : "not_sent" };
}

function interpretProduct(sighting: Extract<Sighting, { type: "product" }>, { recorded }: Index): Part {
  const { address, productId, at, finding } = sighting;
  const looked: LedgerEffect = { type: "looked_at", resource: productResource(productId), at };
  switch (finding.type) {
    case "present":
      return { confirmations: [{ type: "product_confirmed", productId, provenance: { by: "get", at } }] };
    case "unreadable":
      return { confirmations: [looked], unreadable: [{ address, failure: finding.failure }] };
    case "absent": {
      const known = [...recorded.publications, ...recorded.duplicates].find(
        (product) => product.productId === productId,
      );
      const gone: Drift = {
        address,
        type: "product_gone",
        before: { product_id: productId },
        after: null,
        attributes: [],
        confirmed: known === undefined ? null : confirmedState(known.provenance),
        observed_at: isoTime(at),
      };
      return { drift: [gone], confirmations: [looked] };
    }
  }
}

/** An upload that could not be read is neither ended nor gone. */
function interpretUploads({ uploadIds, finding }: Extract<Sighting, { type: "uploads" }>): Part {
  if (finding.type === "absent") return {};
  if (finding.type === "unreadable") {
    return { unreadable: uploadIds.map((id) => ({ address: `uploads/${id}`, failure: finding.failure })) };
  }
  return {
    unreadable: finding.value.missing
      .filter(({ failure }) => !neverMade.has(failure.code))
      .map(({ uploadId, failure }) => ({ address: `uploads/${uploadId}`, failure })),
    confirmations: finding.value.uploads
      .filter(({ uploadId }) => uploadIds.includes(uploadId))
      .flatMap(({ uploadId, status, fileId }): LedgerEffect[] =>
        status === "pending"
          ? []
          : [{ type: "upload_ended", uploadId, status, ...(fileId === undefined ? {} : { fileId }) }],
      ),
  };
}

function stateOf({ fileId, sha256, attributes }: RecordedAttachment): AttachmentState {
  return orderState({ file_id: fileId, ...(sha256 === undefined ? {} : { sha256 }), ...attributes });
}
