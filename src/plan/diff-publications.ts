import { publicationAddress } from "../model/address.ts";
import type { Change } from "../model/change.ts";
import type { Desired, DesiredDraft } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { Recorded, RecordedPublication } from "../model/recorded.ts";
import { confirmedState, publicationsInForce } from "../model/recorded.ts";
import { locationAt } from "../model/source-location.ts";
import type { Differences } from "./differences.ts";
import { blockingDoubts, inDoubtChange } from "./doubts.ts";

/** Publications: desired against recorded. What was published stays recorded for good, so that it is never repeated. */
export function diffPublications(desired: Desired, recorded: Recorded): Differences {
  const doubts = [...blockingDoubts(recorded).values()].filter(({ kind }) => kind === "publish");
  const blocked = new Set(doubts.map(({ address }) => address));
  const latest = publicationsInForce(recorded);
  const changes: Change[] = doubts.map((operation) => inDoubtChange(operation));
  const hasFiles = makeFilesTest(recorded);
  const unchanged: string[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const draft of desired.drafts) {
    const address = publicationAddress(draft.draftId);
    const published = latest.get(draft.draftId);
    if (blocked.has(address)) continue;
    if (draft.publish === undefined) {
      if (published !== undefined) diagnostics.push(publishRemoved(address, draft, published));
      continue;
    }
    const { revision } = draft.publish;
    if (published === undefined || revision > published.revision) {
      changes.push(publication(address, revision, published));
      if (!hasFiles(draft)) diagnostics.push(publishWithoutFiles(address, draft));
      continue;
    }
    unchanged.push(address);
    if (revision < published.revision) diagnostics.push(revisionLowered(address, draft, revision, published));
  }
  return {
    changes,
    unchanged,
    diagnostics: [...diagnostics, ...removedDocuments(desired, recorded, latest)],
  };
}

/** Reported while the files of the draft are removed, and not afterwards. */
function removedDocuments(
  desired: Desired,
  recorded: Recorded,
  latest: ReadonlyMap<number, RecordedPublication>,
): Diagnostic[] {
  const wanted = new Set(desired.drafts.map(({ draftId }) => draftId));
  const leaving = new Set(recorded.attachments.map(({ draftId }) => draftId));
  return [...latest.values()]
    .filter(({ draftId }) => !wanted.has(draftId) && leaving.has(draftId))
    .map((published) => ({
      severity: "info",
      code: "publish-removed",
      message: staysPublished(published),
      hint: "Its files are detached from the draft; the product stays published.",
      address: publicationAddress(published.draftId),
    }));
}

function staysPublished({ draftId, productId }: RecordedPublication): string {
  return `drafts/${draftId}/product: product ${productId} stays published: the service has no call that takes a product back`;
}

function publication(address: string, revision: number, published: RecordedPublication | undefined): Change {
  return {
    address,
    action: "publish",
    reason: published === undefined ? "not_published" : "revision_raised",
    before:
      published === undefined ? null : { revision: published.revision, product_id: published.productId },
    after: { revision },
    attributes: ["revision"],
    ...(published === undefined ? {} : { confirmed: confirmedState(published.provenance) }),
  };
}

/** Whether a draft has a file once the plan is applied: one that it declares, or a recorded one of a list that it leaves out. */
function makeFilesTest(recorded: Recorded): (draft: DesiredDraft) => boolean {
  return ({ draftId, managed, attachments }) =>
    attachments.length > 0 ||
    recorded.attachments.some((file) => file.draftId === draftId && !managed.includes(file.kind));
}

function publishWithoutFiles(address: string, draft: DesiredDraft): Diagnostic {
  return {
    severity: "warning",
    code: "publish-without-files",
    message: `${address}: no file is attached to draft ${draft.draftId} when it is published`,
    hint: "Add its files to the manifest, or remove `publish` until they are there: publishing cannot be undone.",
    address,
    place: locationAt(draft.file, draft.publish?.position ?? draft.position),
  };
}

function publishRemoved(address: string, draft: DesiredDraft, published: RecordedPublication): Diagnostic {
  return {
    severity: "info",
    code: "publish-removed",
    message: staysPublished(published),
    hint: "Nothing needs to be done. Write `publish: true` again to say that this is meant.",
    address,
    place: locationAt(draft.file, draft.position),
  };
}

function revisionLowered(
  address: string,
  draft: DesiredDraft,
  revision: number,
  published: RecordedPublication,
): Diagnostic {
  return {
    severity: "warning",
    code: "revision-lowered",
    message: `${address}: revision ${revision} is asked for, but revision ${published.revision} is published already (product ${published.productId})`,
    hint: `Write \`publish: { revision: ${published.revision} }\`, or a higher number to publish once more.`,
    address,
    place: locationAt(draft.file, draft.publish?.position ?? draft.position),
  };
}
