import { compareText, draftIdOf } from "../model/address.ts";
import type { ResourceName } from "../model/change.ts";
import type { Desired, DesiredDraft } from "../model/desired.ts";
import { attachmentsByAddress } from "../model/desired.ts";
import { lazily } from "../model/lazily.ts";
import type { Plan, PlanDraft } from "../model/plan.ts";
import type { Recorded } from "../model/recorded.ts";
import { formatLine } from "../model/source-location.ts";

/** Finds what people call a resource, by its address. */
export type NameFinder = (address: string) => ResourceName;

/** Finds the names that the manifests give, and for drafts they no longer declare those that the ledger holds. */
export function makeNameFinder(desired: Desired, { titles }: Pick<Recorded, "titles">): NameFinder {
  const drafts = lazily(() => new Map(desired.drafts.map((draft) => [draft.draftId, draft])));
  const attachments = lazily(() => attachmentsByAddress(desired));
  const duplicates = lazily(
    () => new Map(desired.duplicates.map((each) => [`duplicates/${each.name}`, each])),
  );
  return (address) => {
    const draftId = draftIdOf(address);
    if (draftId === undefined) return nameOf(undefined, duplicates().get(address));
    const draft = drafts().get(draftId);
    const title = draft === undefined ? titles.get(draftId) : draft.title;
    return nameOf(title, attachments().get(address) ?? draft);
  };
}

/** The drafts of the addresses, each once, sorted. */
export function nameDrafts(addresses: readonly string[], nameOf: NameFinder): readonly PlanDraft[] {
  const drafts = new Set(addresses.flatMap((address) => draftIdOf(address) ?? []));
  return [...drafts]
    .map((draftId) => `drafts/${draftId}`)
    .sort(compareText)
    .map((address) => ({ address, ...nameOf(address) }));
}

/** The names that a plan gives, for changes that are made from it. */
export function namesOfPlan({ changes, drafts }: Pick<Plan, "changes" | "drafts">): NameFinder {
  const known = new Map([...drafts, ...changes].map((each) => [each.address, each]));
  return (address) => {
    const { title, declared_at } = known.get(address) ?? known.get(`drafts/${draftIdOf(address)}`) ?? {};
    return {
      ...(title === undefined ? {} : { title }),
      ...(declared_at === undefined ? {} : { declared_at }),
    };
  };
}

function nameOf(
  title: string | undefined,
  declared: Pick<DesiredDraft, "file" | "position"> | undefined,
): ResourceName {
  return {
    ...(title === undefined ? {} : { title }),
    ...(declared === undefined ? {} : { declared_at: formatLine(declared) }),
  };
}
