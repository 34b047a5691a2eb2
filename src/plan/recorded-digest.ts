import { createHash } from "node:crypto";
import { compareText, draftIdOf, parseAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import type { Drift } from "../model/drift.ts";
import type { PlanBasis } from "../model/plan.ts";
import type { Recorded, RecordedAttachment } from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";

/**
 * What the ledger records for one draft, as far as a plan is made from it. Without provenance: confirming a record again
 * changes no plan. Without the mark that it may be published: whatever the plan is, apply leaves out what the mark forbids.
 */
export interface DraftState {
  protect: boolean;
  /** By path at the service: `drafts/48213/product_files/9900011`. */
  readonly attachments: Map<string, RecordedAttachment>;
  /** Product ids by revision. */
  readonly publications: Map<number, number>;
  /** Ids of operations in doubt. */
  readonly inDoubt: Set<string>;
}

/** The address of what a change is about, as a whole: its draft, or the duplicate. */
export function basisAddress({ address }: Pick<Change, "address">): string {
  const parsed = parseAddress(address);
  return parsed !== undefined && "draftId" in parsed ? `drafts/${parsed.draftId}` : address;
}

/** The recorded states of some drafts. One pass over the ledger, however many drafts there are. */
export function draftStatesOf(
  recorded: Recorded,
  draftIds: ReadonlySet<number>,
): ReadonlyMap<number, DraftState> {
  const states = new Map<number, DraftState>();
  for (const draftId of draftIds) {
    states.set(draftId, {
      protect: recorded.protectedDrafts.has(draftId),
      attachments: new Map(),
      publications: new Map(),
      inDoubt: new Set(),
    });
  }
  for (const attachment of recorded.attachments)
    states.get(attachment.draftId)?.attachments.set(fileResource(attachment), attachment);
  for (const { draftId, revision, productId } of recorded.publications)
    states.get(draftId)?.publications.set(revision, productId);
  for (const { id, address } of recorded.inDoubt) states.get(draftIdOf(address) ?? 0)?.inDoubt.add(id);
  return states;
}

/** SHA-256 of a draft's recorded state. */
export function digestOfDraft({ protect, attachments, publications, inDoubt }: DraftState): string {
  return digestOf({
    protect,
    attachments: [...attachments]
      .sort(([a], [b]) => compareText(a, b))
      .map(([resource, { address, sha256, attributes }]) => ({ resource, address, sha256, attributes })),
    publications: [...publications].sort(([a], [b]) => a - b),
    in_doubt: [...inDoubt].sort(compareText),
  });
}

/**
 * Makes the function that digests what is recorded for an address outside every draft: a duplicate, or a single
 * call in doubt. `own` are the ids of runs whose doubts do not count.
 */
export function makeOtherDigest(
  { duplicates, inDoubt }: Recorded,
  own: ReadonlySet<string> = new Set(),
): (address: string) => string {
  const byAddress = new Map(duplicates.map((each) => [`duplicates/${each.name}`, each]));
  const doubts = inDoubt.filter(({ runId }) => !own.has(runId));
  return (address) => {
    const known = byAddress.get(address);
    return digestOf({
      from: known?.from,
      source_product_id: known?.sourceProductId,
      product_id: known?.productId,
      in_doubt: doubts.filter((operation) => operation.address === address).map(({ id }) => id),
    });
  };
}

/**
 * The digests of everything that a plan changes or reports drift of, sorted by address. `known` is what is recorded with
 * the drift applied: what the ledger holds once a run of the plan has recorded the drift.
 */
export function basesOf(
  { changes, drift }: { readonly changes: readonly Change[]; readonly drift: readonly Drift[] },
  { recorded, known }: { readonly recorded: Recorded; readonly known: Recorded },
): readonly PlanBasis[] {
  const items = [...changes, ...drift.filter(({ type }) => type !== "product_gone")];
  const addresses = [...new Set(items.map(basisAddress))].sort(compareText);
  const draftIds = new Set(addresses.flatMap((address) => draftIdOf(address) ?? []));
  const before = draftStatesOf(recorded, draftIds);
  const after = drift.length === 0 ? before : draftStatesOf(known, draftIds);
  const otherDigest = makeOtherDigest(recorded);
  return addresses.map((address) => {
    const draftId = draftIdOf(address);
    const [one, other] = [before.get(draftId ?? 0), after.get(draftId ?? 0)];
    if (one === undefined || other === undefined) return { address, digest: otherDigest(address) };
    const digest = digestOfDraft(one);
    const withDrift = other === one ? digest : digestOfDraft(other);
    return { address, digest, ...(withDrift === digest ? {} : { digest_with_drift: withDrift }) };
  });
}

/**
 * JSON with the members of every object sorted by name and no white space, so that equal values have equal bytes
 * (the idea of RFC 8785, for values that hold only safe integers, strings, booleans, null, arrays and objects).
 * A member whose value is `undefined` is left out.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** SHA-256, in lower-case hex, of a value's {@link canonicalJson}. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
