import { parseAddress } from "../model/address.ts";
import { DraftsyncError } from "../model/errors.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { Provenance, RecordedOperation } from "../model/recorded.ts";

/** What a person found out about an operation in doubt. */
export type Resolution =
  | { readonly type: "done" }
  /** A publication or duplicate that made this product. */
  | { readonly type: "product"; readonly productId: number }
  | { readonly type: "not_done" };

/** A resolution that does not fit the operation. Codes: `resolution-needs-product`, `resolution-needs-no-product`, `resolution-impossible`. */
export class ResolutionError extends DraftsyncError {
  override readonly name = "ResolutionError";
}

/**
 * The effects of an operator's resolution (provenance `operator`), which also settle the operation. `now` is in epoch
 * milliseconds. Pure.
 */
export function resolutionEffects(
  operation: RecordedOperation,
  resolution: Resolution,
  now: number,
): readonly LedgerEffect[] {
  const { id: operationId } = operation;
  if (resolution.type === "not_done") return [{ type: "settled", operationId, outcome: "not_sent" }];
  const provenance: Provenance = { by: "operator", at: now };
  return [
    ...doneEffects(operation, resolution, provenance),
    { type: "settled", operationId, outcome: "done" },
  ];
}

function doneEffects(
  operation: RecordedOperation,
  resolution: Exclude<Resolution, { type: "not_done" }>,
  provenance: Provenance,
): readonly LedgerEffect[] {
  switch (operation.kind) {
    case "publish":
    case "duplicate":
      if (resolution.type !== "product") throw needsProduct(operation);
      return productEffects(operation, resolution.productId, provenance);
    case "attach":
      if (resolution.type === "product") throw needsNoProduct(operation);
      return [attachedEffect(operation, provenance)];
    case "detach":
      if (resolution.type === "product") throw needsNoProduct(operation);
      return [{ type: "detached", target: targetOf(operation) }];
    case "update":
    case "upload":
      // The next plan sends it again or uses what came of it; there is nothing to record by word of mouth.
      if (resolution.type === "product") throw needsNoProduct(operation);
      return [];
  }
}

function productEffects(
  operation: RecordedOperation,
  productId: number,
  provenance: Provenance,
): readonly LedgerEffect[] {
  const { draftId, revision, name, productId: sourceProductId } = operation.intent;
  if (operation.kind === "publish" && draftId !== undefined && revision !== undefined) {
    return [{ type: "published", draftId, revision, productId, provenance }];
  }
  // A duplicate made by `products duplicate` has no name in the ledger.
  if (parseAddress(operation.address)?.type !== "duplicate") return [];
  if (name === undefined || sourceProductId === undefined) throw impossible(operation);
  const from =
    draftId === undefined
      ? ({ by: "product_id", productId: sourceProductId } as const)
      : ({ by: "draft", draftId } as const);
  return [{ type: "duplicated", name, from, sourceProductId, productId, provenance }];
}

function attachedEffect(operation: RecordedOperation, provenance: Provenance): LedgerEffect {
  const { attributes = {}, sha256 } = operation.intent;
  const digest = sha256 === undefined ? {} : { sha256 };
  return {
    type: "attached",
    attachment: { ...targetOf(operation), address: operation.address, attributes, ...digest, provenance },
  };
}

function targetOf(operation: RecordedOperation) {
  const address = parseAddress(operation.address);
  const { fileId } = operation.intent;
  if (address?.type !== "attachment" || fileId === undefined) throw impossible(operation);
  return { draftId: address.draftId, kind: address.kind, fileId };
}

function needsProduct({ address, kind }: RecordedOperation): ResolutionError {
  return new ResolutionError(`${address} is a ${kind} in doubt: if it took effect, it made a product`, {
    code: "resolution-needs-product",
    hint: "Look the product up at the service and give its id with --product-id, or say --not-done.",
  });
}

function needsNoProduct({ address, kind }: RecordedOperation): ResolutionError {
  return new ResolutionError(`${address} is an ${kind} in doubt: no product comes of it`, {
    code: "resolution-needs-no-product",
    hint: "Say --done or --not-done.",
  });
}

function impossible({ address, id }: RecordedOperation): ResolutionError {
  return new ResolutionError(`the ledger holds too little of operation ${id} to record ${address} as done`, {
    code: "resolution-impossible",
    hint: "Say --not-done; a file that is attached after all is adopted by the next apply.",
  });
}
