import type { CallFailure } from "../../../src/model/outcome.ts";
import type { Clock, LedgerEffect, NewOperation } from "../../../src/model/ports.ts";
import type { Provenance, RecordedAttachment } from "../../../src/model/recorded.ts";

/** A clock that advances by three seconds at each read of `monotonic`. */
export function hurriedClock(): Clock {
  let elapsed = 0;
  return { now: () => 1_700_000_000_000, monotonic: () => (elapsed += 3_000) };
}

/** The run of every sample operation. */
export const sampleRun = { id: "run-1", command: "apply", planId: "plan-1", startedAt: 1_700_000_000_000 };

/** The intent of attaching file `fileId` to draft 7. */
export function attachOperation(id: string, fileId = 1): NewOperation {
  return {
    id,
    runId: sampleRun.id,
    address: `drafts/7/product_files/${fileId}`,
    kind: "attach",
    method: "POST",
    path: "/api/drafts/7/product_files",
    intent: { draftId: 7, fileKind: "product_files", fileId, attributes: { file_format: "fbx" } },
  };
}

/** A record of file `fileId` in the product files of draft 7. */
export function attachment(fileId: number, other: Partial<RecordedAttachment> = {}): RecordedAttachment {
  return {
    draftId: 7,
    kind: "product_files",
    fileId,
    address: `drafts/7/product_files/${fileId}`,
    attributes: {},
    provenance: { by: "post", at: 1_700_000_000_123 },
    ...other,
  };
}

/** The effect of attaching it. */
export function attached(fileId: number, other: Partial<RecordedAttachment> = {}): LedgerEffect {
  return { type: "attached", attachment: attachment(fileId, other) };
}

/** The failure of a call without a response. */
export const lostResponse: CallFailure = {
  code: "timeout",
  message: "No response within 30 s.",
  hint: "Settle it.",
  errors: [{ status: "504", detail: "gateway", meta: { id: 3 } }],
  stops: "draft",
};

export const publishOperation: NewOperation = {
  ...attachOperation("op"),
  address: "drafts/7/product",
  kind: "publish",
  path: "/api/products",
  intent: { draftId: 7, revision: 1 },
};

export const copyOperation: NewOperation = {
  ...publishOperation,
  id: "op-2",
  address: "duplicates/a",
  kind: "duplicate",
  intent: { name: "a", productId: 5 },
};

export const copied = (productId: number, by: Provenance["by"] = "post"): LedgerEffect => ({
  type: "duplicated",
  name: "a",
  from: { by: "product_id", productId: 5 },
  sourceProductId: 5,
  productId,
  provenance: { by, at: 1 },
});
