import { compareText, formatAddress, wholeAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import type { Desired, DesiredDraft, ProductRef } from "../model/desired.ts";
import type { Drift } from "../model/drift.ts";
import { append } from "../model/lists.ts";
import type { Plan, PlanBasis } from "../model/plan.ts";
import { formatVersion, type Recorded, type RecordedOperation } from "../model/recorded.ts";
import { canonicalJson, digestOf } from "./digest.ts";
import { doubtsOfCopy } from "./doubts.ts";

/** What the ledger recorded, and the manifests declare, for everything that a plan changes or reports drift of, sorted by address. */
export function basesOf(
  { changes, drift }: { readonly changes: readonly Change[]; readonly drift: readonly Drift[] },
  { recorded, desired }: { readonly recorded: Recorded; readonly desired: Desired },
): readonly PlanBasis[] {
  const { versions, inDoubt } = recorded;
  const items = [...changes, ...drift.filter(({ type }) => type !== "product_gone")];
  const addresses = [...new Set(items.map(({ address }) => wholeAddress(address)))].sort(compareText);
  const doubts = doubtsByResource(inDoubt);
  for (const change of changes) {
    if (change.action !== "duplicate") continue;
    // One of them may have made this copy under another name.
    for (const doubt of doubtsOfCopy(change.after, inDoubt)) append(doubts, change.address, doubt);
  }
  const digests = digestsOf(addresses, recorded);
  const declarations = declarationsOf(addresses, desired);
  return addresses.map((address) => {
    const declared = declarations.get(address);
    const version = versions.get(address);
    const known = doubts.get(address)?.map(doubtKey);
    return {
      address,
      ...(version === undefined ? {} : { version: formatVersion(version) }),
      recorded: digests.get(address) ?? "",
      ...(declared === undefined ? {} : { declared }),
      ...(known === undefined ? {} : { in_doubt: known.sort(compareText) }),
    };
  });
}

/** The digest of what is recorded at each address, which stays the same while it is only confirmed. */
function digestsOf(addresses: readonly string[], recorded: Recorded): ReadonlyMap<string, string> {
  const values = new Map<string, unknown[]>(addresses.map((address) => [address, []]));
  const add = (address: string, { provenance: _, ...value }: { readonly provenance?: unknown }) =>
    values.get(address)?.push(value);
  const { attachments, publications, protectedDrafts, duplicates } = recorded;
  const isAbout = ({ draftId }: { readonly draftId: number }) => values.has(`drafts/${draftId}`);
  for (const file of values.size === 0 ? [] : attachments.filter(isAbout))
    add(`drafts/${file.draftId}`, file);
  for (const publication of publications) add(`drafts/${publication.draftId}`, publication);
  for (const copy of duplicates) add(formatAddress({ type: "duplicate", name: copy.name }), copy);
  for (const draftId of protectedDrafts) values.get(`drafts/${draftId}`)?.push("protected");
  return new Map([...values].map(([address, value]) => [address, digestOf(value.map(canonicalJson).sort())]));
}

/**
 * The digest of what the manifests declare at each address that they declare: with the content of local
 * files, without titles and the order of entries.
 */
function declarationsOf(
  addresses: readonly string[],
  { drafts, duplicates }: Desired,
): ReadonlyMap<string, string> {
  const wanted = new Set(addresses);
  const revisions = new Map(drafts.map(({ draftId, publish }) => [draftId, publish?.revision]));
  // A copy is of the product in force: a draft to be published again is copied after that.
  const copyOf = (product: ProductRef) => [product, product.by === "draft" && revisions.get(product.draftId)];
  const declared = [
    ...drafts.map((draft) => [`drafts/${draft.draftId}`, () => declarationOf(draft)] as const),
    ...duplicates.map(
      ({ name, product }) => [formatAddress({ type: "duplicate", name }), () => copyOf(product)] as const,
    ),
  ];
  return new Map(
    declared.flatMap(([address, of]) => (wanted.has(address) ? [[address, digestOf(of())] as const] : [])),
  );
}

function declarationOf({ protect, managed, publish, attachments }: DesiredDraft): object {
  const files = attachments.map(({ address, attributes, content }) =>
    canonicalJson([formatAddress(address), attributes, content?.sha256]),
  );
  return { protect, managed: [...managed].sort(), revision: publish?.revision, files: files.sort() };
}

/** The addresses of a plan at which the manifests declare something else than when it was made. */
export function changedDeclarations({ base }: Pick<Plan, "base">, desired: Desired): readonly string[] {
  const addresses = base.resources.map(({ address }) => address);
  const declarations = declarationsOf(addresses, desired);
  return base.resources
    .filter(({ address, declared }) => declarations.get(address) !== declared)
    .map(({ address }) => address);
}

/** Makes the test whether only the plan has changed what a basis is about. `runIds` are of the runs of the plan. */
export function makeFreshTest(
  { plan_id: planId, base }: Pick<Plan, "plan_id" | "base">,
  recorded: Recorded,
  runIds: ReadonlySet<string>,
): (basis: PlanBasis) => boolean {
  const { versions, inDoubt } = recorded;
  const addresses = base.resources.map(({ address }) => address);
  // What its own runs have changed since is known by the versions alone.
  const digests = runIds.size === 0 ? digestsOf(addresses, recorded) : undefined;
  const doubts = doubtsByResource(inDoubt.filter(({ runId }) => !runIds.has(runId)));
  const open = new Set(inDoubt.map(doubtKey));
  return ({ address, version, recorded: digest, in_doubt: known = [] }) => {
    if (digests !== undefined && digests.get(address) !== digest) return false;
    // A call that was under way while the plan was made may have ended since, which changes no record.
    if (runIds.size === 0 && !known.every((key) => open.has(key))) return false;
    const current = versions.get(address);
    const isOwn = current?.changedBy === planId;
    const others = isOwn || current === undefined ? current?.before : formatVersion(current);
    return (
      others === version && (doubts.get(address) ?? []).every((doubt) => known.includes(doubtKey(doubt)))
    );
  };
}

/** How a plan names a call in doubt: with its status, which decides what a check may set and shows. */
export function doubtKey({ id, status }: RecordedOperation): string {
  return status === undefined ? id : `${id} ${status}`;
}

function doubtsByResource(inDoubt: readonly RecordedOperation[]): Map<string, RecordedOperation[]> {
  const byAddress = new Map<string, RecordedOperation[]>();
  for (const operation of inDoubt) append(byAddress, wholeAddress(operation.address), operation);
  return byAddress;
}
