import { parseAddress } from "../model/address.ts";
import type { DuplicateChange, DuplicateState, PublishChange } from "../model/change.ts";
import type { ProductRef } from "../model/desired.ts";
import { makeClaim } from "../model/lists.ts";
import type { ApplyContext, ChangeEnd } from "./context.ts";
import { runOperation } from "./operation.ts";

/** Publishes a product from a draft. Never repeated: what is not `done` is for a person. */
export async function publishDraft(
  context: ApplyContext,
  { change, signal }: { change: PublishChange; signal: AbortSignal },
): Promise<ChangeEnd> {
  const address = parseAddress(change.address);
  if (address?.type !== "publication") throw new TypeError(`${change.address} is not a publication`);
  const { draftId } = address;
  const { revision } = change.after;
  // A draft that is published again may keep its product; any other address has one of its own.
  const claim = makeClaim(change.address, (await context.holders()).products);
  const result = await runOperation(context, {
    address: change.address,
    kind: "publish",
    intent: { draftId, revision },
    signal,
    budget: context.budget?.operation(() => nonIdempotentCalls(context)),
    call: (options) =>
      context.service.publish(draftId, {
        ...options,
        claim,
        ...(change.before === null ? {} : { productId: change.before.product_id }),
      }),
    effects: (answer) => {
      if (answer.outcome !== "done") return [];
      const provenance = { by: "post", at: context.clock.now() } as const;
      return [{ type: "published", draftId, revision, productId: answer.value.productId, provenance }];
    },
  });
  return result.outcome === "done" ? { outcome: "done", productId: result.value.productId } : result;
}

/** Duplicates a product whose id is known by now. Never repeated, like a publication. */
export async function duplicateProduct(
  context: ApplyContext,
  { change, productId }: { change: DuplicateChange; productId: number },
): Promise<ChangeEnd> {
  const name = change.address.slice("duplicates/".length);
  const claim = makeClaim(change.address, (await context.holders()).products);
  const result = await runOperation(context, {
    address: change.address,
    kind: "duplicate",
    intent: {
      name,
      productId,
      ...(change.after.draft_id === undefined ? {} : { draftId: change.after.draft_id }),
    },
    budget: context.budget?.operation(() => nonIdempotentCalls(context)),
    call: (options) => context.service.duplicate(productId, { ...options, claim }),
    effects: (answer) => {
      if (answer.outcome !== "done") return [];
      return [
        {
          type: "duplicated",
          name,
          from: productRefOf(change.after, productId),
          sourceProductId: productId,
          productId: answer.value.productId,
          provenance: { by: "post", at: context.clock.now() },
        },
      ];
    },
  });
  return result.outcome === "done" ? { outcome: "done", productId: result.value.productId } : result;
}

/** A publish or duplicate before the service has returned any document waits for a read. */
function nonIdempotentCalls({ service }: ApplyContext): number {
  return service.hasResponded() ? 1 : 2;
}

function productRefOf({ draft_id }: DuplicateState, productId: number): ProductRef {
  return draft_id === undefined ? { by: "product_id", productId } : { by: "draft", draftId: draft_id };
}
