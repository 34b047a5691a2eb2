import { formatAddress } from "../../src/model/address.ts";
import type { Desired, DesiredAttachment, DesiredDraft, DesiredDuplicate } from "../../src/model/desired.ts";
import type { RefreshSummary } from "../../src/model/observed.ts";
import type { Recorded, RecordedAttachment } from "../../src/model/recorded.ts";
import { emptyRecorded } from "../../src/model/recorded.ts";
import type { Attributes, FileKind } from "../../src/model/resource.ts";
import { fileKinds } from "../../src/model/resource.ts";
import type { PlanInput } from "../../src/plan/build-plan.ts";
import { buildPlan } from "../../src/plan/build-plan.ts";

/** An empty ledger with the given parts. */
export function recordedWith(parts: Partial<Recorded> = {}): Recorded {
  return {
    ...emptyRecorded,
    lineage: "lineage-1",
    serial: 7,
    isConfirmed: true,
    ...parts,
  };
}

/** Empty manifests with the given parts. */
export function desiredWith(parts: Partial<Desired> = {}): Desired {
  return { drafts: [], duplicates: [], ...parts };
}

/** A draft document. */
export function draftWith(draftId: number, parts: Partial<DesiredDraft> = {}): DesiredDraft {
  return {
    draftId,
    protect: false,
    managed: fileKinds,
    attachments: [],
    file: "manifests/a.yaml",
    position: 1,
    ...parts,
  };
}

/** A copy of a draft's product. */
export function copyOf(draftId: number, name = "copy"): DesiredDuplicate {
  return { name, product: { by: "draft", draftId }, file: "manifests/a.yaml", position: 1 };
}

/** A file named by its id. */
export function wantedFile(draftId: number, fileId: number, attributes: Attributes = {}): DesiredAttachment {
  return wanted(draftId, "product_files", { by: "file_id", fileId }, attributes);
}

/** A local file whose digest is the name of its content. */
export function wantedSource(draftId: number, source: string, content: string, attributes: Attributes = {}) {
  return {
    ...wanted(draftId, "product_files", { by: "source", source }, attributes),
    content: { sha256: content, size: 10 },
  };
}

/** Any desired attachment. */
export function wanted(
  draftId: number,
  kind: FileKind,
  ref: DesiredAttachment["address"]["ref"],
  attributes: Attributes = {},
): DesiredAttachment {
  const address = { type: "attachment", draftId, kind, ref } as const;
  return { address, attributes, file: "manifests/a.yaml", position: 1, layout: {} };
}

/** An attachment in the ledger, by default at its numeric address. */
export function recordedFile(
  draftId: number,
  fileId: number,
  parts: Partial<RecordedAttachment> = {},
): RecordedAttachment {
  const kind = parts.kind ?? "product_files";
  return {
    draftId,
    kind,
    fileId,
    address: formatAddress({ type: "attachment", draftId, kind, ref: { by: "file_id", fileId } }),
    attributes: {},
    provenance: { by: "post", at: 0 },
    ...parts,
  };
}

/** The summary of a refresh that checked everything. */
export function refreshSummary(parts: Partial<RefreshSummary> = {}): RefreshSummary {
  return {
    mode: "full",
    attachments: "probe",
    calls: 1,
    max_calls: null,
    checked: 1,
    unreadable: 0,
    deferred: 0,
    not_checked: 0,
    oldest_unconfirmed: null,
    ...parts,
  };
}

/** The settings of the service's profile that a plan needs, with their defaults. */
export const callProfile = { uploads_query: "filter[id]", uploads_page: 50 };

/** A plan of the given parts with a rate of ten calls a second. */
export function planOf(desired: Desired, recorded: Recorded, parts: Partial<PlanInput> = {}) {
  return buildPlan({
    workspace: "studio",
    serviceOrigin: "https://api.example.com",
    desired,
    recorded,
    rate: { limit: 10, windowMs: 1000 },
    profile: callProfile,
    ...parts,
  });
}
